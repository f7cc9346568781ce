"""Sees tensors that are fetched to the host: `.numpy()`, `float()`, `print` and the like."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from unslow.model import Phase
from unslow.record.probe import Probe
from unslow.record.recorder import clock

_SYNC = int(Phase.SYNC)
_WAYS = (
    "numpy",
    "__float__",
    "__int__",
    "__bool__",
    "__index__",
    "__array__",
    "__str__",
    "__repr__",
    "__format__",
)


class Tensors(Probe):
    name = "tensors"

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        return {"tensorflow.python.framework.ops": self._on_ops}

    def _on_ops(self, module: ModuleType) -> None:
        for way in _WAYS:
            if way in vars(module._EagerTensorBase):
                self.replace(module._EagerTensorBase, way, lambda original, way=way: self._fetch(original, way))

    def _fetch(self, original: Callable[..., Any], way: str) -> Callable[..., Any]:
        local, close, tally = self.recorder.local, self.recorder.close_span, self.recorder.tally

        def fetch(self: Any, *args: Any, **kwargs: Any) -> Any:
            lane = local.lane
            if lane.tracing or lane.busy:
                return original(self, *args, **kwargs)
            if lane.stack and lane.stack[-1][0] == _SYNC:  # print() asks for the text, and that for the array
                return original(self, *args, **kwargs)
            entry = [_SYNC, clock(), 0]
            lane.stack.append(entry)
            try:
                result = original(self, *args, **kwargs)
            finally:
                took = close(lane, entry)
            tally("sync", sys._getframe(1), took, way=way)
            if result.__class__ is float or getattr(result, "ndim", 1) == 0:
                lane.value = _number(result)
            return result

        return fetch


def _number(value: Any) -> float:
    """A scalar that was fetched: in a training loop it is mostly the loss."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
