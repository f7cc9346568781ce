"""Sees the shapes that an eager model is called with, where no compiled function shows them."""

from __future__ import annotations

import _thread
import math

from unslow.facts.memory import Batch
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.engine.weak_table import WeakTable

_LAYERS = (
    "keras.src.layers.layer",
    "keras.src.engine.base_layer",
    "tf_keras.src.engine.base_layer",
)
_LEAVES = 6
_MOST_SHAPES = 10_000
_ALIKE = 128  # calls in a row with the same shapes, after which the wrapper rests
_AGAIN = 4  # calls that are enough to see that nothing has changed


class Batches(Probe):
    name = "batches"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        # Threads that are in a layer's call: only the outermost one counts.
        self._inside: dict[int, bool] = {}
        self._seen: WeakTable[set[Foreign]] = WeakTable()
        self._last: tuple[Foreign, ...] = ()  # the shapes of the last call
        self._alike = 0  # calls in a row with them
        self._needed = _ALIKE
        self._rests_until = 0  # the step at which the next are inspected
        self.recorder.signals.trace_begins.subscribe(self.name, self._wake)
        self._lane: Lane | None = None  # whose batches are taken to be as they were
        self.recorder.signals.step.subscribe(self.name, self._look)

    def doors(self) -> Doors:
        return dict.fromkeys(_LAYERS, self.wrapping({"Layer.__call__": self._call}))

    def _call(self, original: Function) -> Function:
        local, inside, ident = self.recorder.local, self._inside, _thread.get_ident
        probe = self

        def __call__(self: object, *args: object, **kwargs: object) -> object:
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

    def _called(self, lane: Lane, model: Foreign, args: tuple[Foreign, ...]) -> None:
        try:
            shapes: list[tuple[int, ...]] = []
            for value in args:
                _gather(value, shapes)
            if not shapes:
                return
            if not lane.elements:
                lane.elements = float(math.prod(shapes[0]) or 1)
            key = tuple(shapes)
            self._alike = self._alike + 1 if key == self._last else 0
            self._last = key
            if self._alike >= self._needed:
                self._rest(lane)
            seen = self._seen.get(model)
            if seen is None:
                seen = set()
                self._seen.put(model, seen)
            if key in seen or len(seen) >= _MOST_SHAPES:
                return
            began = clock()
            seen.add(key)
            name = type(model).__name__
            step = self.steps.total
            fact = Batch(key=name, name=name, shapes=key, distinct=len(seen), step=step)
            self.recorder.emit(fact)
            self.recorder.keep_out(lane, clock() - began, self.name)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _rest(self, lane: Lane) -> None:
        """All calls are alike: until a sixteenth more steps are done, they are taken to be."""
        total = self.steps.total
        self.rest("__call__")
        self._lane, self._rests_until = lane, total + max(_ALIKE, total >> 4)
        lane.usual = float(math.prod(self._last[0]) or 1)

    def _resume(self, alike: int) -> None:
        if self._lane is not None:
            self._lane.usual, self._lane = 0.0, None
            self._alike = alike
            self.resume("__call__")

    def _wake(self) -> None:
        if self._lane is not None:
            self._needed *= 2  # where functions and models take turns, looking away costs more
            self._resume(0)

    def _look(self, lane: Lane, total: int) -> None:
        if self._lane is not None and total >= self._rests_until:
            self._resume(self._needed - _AGAIN)


def _gather(value: Foreign, shapes: list[tuple[int, ...]]) -> None:
    if len(shapes) >= _LEAVES:
        return
    if isinstance(value, list | tuple):
        for inner in value:
            _gather(inner, shapes)
    elif isinstance(value, dict):
        for inner in value.values():
            _gather(inner, shapes)
    else:
        known = getattr(value, "_shape_tuple", None)  # of tensors: a TensorShape takes longer
        shape = known() if known is not None else getattr(value, "shape", None)
        sides = tuple(shape) if shape is not None else (None,)
        is_symbolic = None in sides or not hasattr(value, "__array__")
        if not is_symbolic:
            shapes.append(sides)
