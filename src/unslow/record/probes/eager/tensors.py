"""Sees tensors that Python takes apart: values fetched to the host (`.numpy()`, `float()`,
`print`), and indexing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

from unslow.facts.eager import Index, Sync
from unslow.facts.phase import Phase
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.lanes import SPAN_PHASE, clock
from unslow.record.engine.probe import Doors, Probe

_RUN, _SYNC = int(Phase.RUN), int(Phase.SYNC)
_WRITTEN = (int(Phase.SAVE), int(Phase.LOG))  # what saving and summaries fetch is their own
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

_MOST_PLACES = 2000
_NEAR = 3  # frames between an index and the line that iterates over a tensor or a variable
_FAR = 16  # frames between a fetch inside Keras's fit and the line that called fit


class Tensors(Probe):
    name = "tensors"

    def doors(self) -> Doors:
        return {"tensorflow.python.framework.ops": self._on_ops, "tensorflow": self._on_tensorflow}

    def _on_ops(self, module: ModuleType) -> None:
        for way in _WAYS:
            if way in vars(module._EagerTensorBase):
                self.replace(module._EagerTensorBase, way, self._named(way))

    def _on_tensorflow(self, module: ModuleType) -> None:
        """Indexing is given to tensors after their class was made."""
        ops: Foreign = sys.modules.get("tensorflow.python.framework.ops")
        if hasattr(ops, "_EagerTensorBase") and hasattr(ops._EagerTensorBase, "__getitem__"):
            self.replace(ops._EagerTensorBase, "__getitem__", self._index)

    def _named(self, way: str) -> Callable[[Foreign], Foreign]:
        return lambda original: self._fetch(original, way)

    def _fetch(self, original: Function, way: str) -> Function:
        local, open_span = self.recorder.local, self.recorder.open_span
        close, tally = self.recorder.close_span, self.recorder.tally
        owner, owns = self._owner, self.recorder.user.owns

        def fetch(self: object, *args: object, **kwargs: object) -> object:
            lane = local.lane
            if lane.stack:
                # To print asks for the text, and that for the array; what TensorFlow fetches for a
                # gradient is its own.
                inside = lane.stack[-1][SPAN_PHASE]
                if inside == _SYNC or (
                    inside == _RUN and lane.fit is None and not owns(sys._getframe(1).f_code)
                ):
                    return original(self, *args, **kwargs)
            if lane.tracing or lane.busy or lane.within in _WRITTEN:
                return original(self, *args, **kwargs)
            entry = open_span(lane, _SYNC)
            try:
                result = original(self, *args, **kwargs)
            finally:
                took = close(lane, entry)
            frame = sys._getframe(1)
            if (
                lane.fit is None
            ):  # within fit there is one line that asks, and the first tally finds it
                frame = owner(frame)
            tally(Sync, frame, took, getattr(result, "nbytes", 0), way=way)
            if result.__class__ is float or getattr(result, "ndim", 1) == 0:
                lane.value = _number(result)
            return result

        return fetch

    def _index(self, original: Function) -> Function:
        """Each index into a tensor is an op of its own; a Python loop over its rows makes one per
        row."""
        local, tally, owner = self.recorder.local, self.recorder.tally, self._owner
        owns = self.recorder.user.owns
        # By place: the tensors that were indexed there last. Two, since `zip` takes turns.
        indexed: dict[tuple[int, int], tuple[int, int]] = {}

        def __getitem__(self: Foreign, key: object, *args: object) -> object:
            lane = local.lane
            if lane.tracing or lane.busy:
                return original(self, key, *args)
            began = clock()
            result = original(self, key, *args)
            took = clock() - began
            held = owner(sys._getframe(1), _NEAR)
            if owns(
                held.f_code
            ):  # a library that takes its own tensors apart is not the user's loop
                place, tensor = (id(held.f_code), held.f_lasti), self._id
                last = indexed.get(place, (-1, -1))
                another = tensor not in last
                if another and (place in indexed or len(indexed) < _MOST_PLACES):
                    indexed[place] = (last[1], tensor)
                tally(Index, held, took, another)  # of how many tensors, beside how many indices
            return result

        return __getitem__

    def _owner(self, frame: Foreign, far: int = _FAR) -> Foreign:
        """The user's line that asked: a variable or a library may have fetched for it."""
        owns, walk = self.recorder.user.owns, frame
        for _ in range(far):
            if walk is None or owns(walk.f_code):
                break
            walk = walk.f_back
        return walk if walk is not None and owns(walk.f_code) else frame


def _number(value: Foreign) -> float:
    """A scalar that was fetched: in a training loop it is mostly the loss."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
