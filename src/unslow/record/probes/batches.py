"""Sees the shapes that an eager model is called with, where no compiled function shows them."""

from __future__ import annotations

import _thread
import math
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from unslow.record.probe import Probe
from unslow.record.recorder import Lane, clock

_LEAVES = 6
_MOST_SHAPES = 10_000


class Batches(Probe):
    name = "batches"

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._inside: dict[int, bool] = {}  # threads that are in a layer's call: only the outermost one counts
        self._seen: Any = weakref.WeakKeyDictionary()

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        return {
            "keras.src.layers.layer": self._on_layers,
            "keras.src.engine.base_layer": self._on_layers,
            "tf_keras.src.engine.base_layer": self._on_layers,
        }

    def _on_layers(self, module: ModuleType) -> None:
        self.replace(module.Layer, "__call__", self._call)

    def _call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local, inside, ident = self.recorder.local, self._inside, _thread.get_ident
        probe = self

        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
            if inside.get(ident()):
                return original(self, *args, **kwargs)
            lane = local.lane
            if lane.tracing or lane.busy or lane.functions:
                return original(self, *args, **kwargs)
            inside[lane.thread] = True
            try:
                return original(self, *args, **kwargs)
            finally:
                inside[lane.thread] = False
                probe._called(lane, self, args)

        return __call__

    def _called(self, lane: Lane, model: Any, args: tuple[Any, ...]) -> None:
        try:
            shapes: list[tuple[int, ...]] = []
            for value in args:
                _gather(value, shapes)
            if not shapes:
                return
            if not lane.elements:
                lane.elements = float(math.prod(shapes[0]) or 1)
            seen = self._seen.get(model)
            if seen is None:
                seen = self._seen[model] = set()
            key = tuple(shapes)
            if key in seen or len(seen) >= _MOST_SHAPES:
                return
            began = clock()
            seen.add(key)
            self.recorder.fact(
                "batch", type(model).__name__, name=type(model).__name__, shapes=[list(shape) for shape in shapes],
                distinct=len(seen), step=self.steps.total,
            )  # fmt: skip
            self.recorder.keep_out(lane, clock() - began, self.name)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")


def _gather(value: Any, shapes: list[tuple[int, ...]]) -> None:
    if len(shapes) >= _LEAVES:
        return
    if isinstance(value, list | tuple):
        for inner in value:
            _gather(inner, shapes)
    elif isinstance(value, dict):
        for inner in value.values():
            _gather(inner, shapes)
    else:
        known = getattr(value, "_shape_tuple", None)  # of tensors: to go through a TensorShape takes longer
        shape = known() if known is not None else getattr(value, "shape", None)
        if shape is not None and None not in tuple(shape) and hasattr(value, "__array__"):  # not a symbolic one
            shapes.append(tuple(shape))
