"""Records waits in Python for the next batch of a tf.data iterator."""

from __future__ import annotations

import sys
from types import ModuleType

from unslow.facts.data import Next
from unslow.facts.phase import Phase
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.lanes import SPAN_PHASE, clock
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.weak_table import WeakTable

_INPUT = int(Phase.INPUT)
_EVAL = int(Phase.EVAL)
# Of the iterators whose models are read: fetches in Python, and their nanoseconds.
FETCHED: WeakTable[list[int]] = WeakTable()


class Input(Probe):
    name = "input"

    def doors(self) -> Doors:
        return {
            "tensorflow.python.data.ops.iterator_ops": self.wrapping(
                {"OwnedIterator.__next__": self._next, "OwnedIterator.get_next": self._next}
            ),
            "tensorflow.python.data.ops.dataset_ops": self._on_datasets,
            "tensorflow.python.distribute.input_lib": self.wrapping(
                {
                    "DistributedIteratorBase.__next__": self._next,
                    "DistributedIteratorBase.get_next": self._next,
                }
            ),
        }

    def _on_datasets(self, module: ModuleType) -> None:
        for name in ("NumpyIterator", "_NumpyIterator"):
            if hasattr(module, name):
                self.replace(getattr(module, name), "__next__", self._next)

    def _next(self, original: Function) -> Function:
        local, open_span = self.recorder.local, self.recorder.open_span
        close, tally = self.recorder.close_span, self.recorder.tally
        steps = self.steps
        count = self._count

        def fetch(self: Foreign, *args: Foreign, **kwargs: Foreign) -> Foreign:
            lane = local.lane
            if lane.tracing or lane.busy:
                return original(self, *args, **kwargs)
            if lane.stack and lane.stack[-1][SPAN_PHASE] == _INPUT:
                # A distributed or NumPy iterator fetches from this one.
                began = clock()
                try:
                    return original(self, *args, **kwargs)
                finally:
                    count(self, clock() - began)
            entry = open_span(lane, _INPUT)
            try:
                result = original(self, *args, **kwargs)
            finally:
                took = close(lane, entry)
                count(self, took)
            if lane.within != _EVAL:
                lane.elements = _elements(result)
                tally(Next, sys._getframe().f_back, took, lane.elements)
                if not steps.trains and lane.within < 0 and not lane.functions:
                    steps.repeated(lane, "data", None, "next", sys._getframe().f_back)
            return result

        return fetch

    def _count(self, iterator: Foreign, took: int) -> None:
        counts = FETCHED.get(iterator)
        if counts is not None:
            counts[0] += 1
            counts[1] += took
        elif self.recorder.late:
            self.recorder.signals.iterator_met.send(iterator)


def _elements(batch: Foreign) -> float:
    """Numbers in the first tensor of a batch."""
    for _ in range(4):
        if isinstance(batch, dict):
            batch = next(iter(batch.values()), None)
        elif isinstance(batch, list | tuple):
            batch = batch[0] if batch else None
        else:
            break
    shape_of = getattr(batch, "_shape_tuple", None)
    shape = shape_of() if shape_of is not None else getattr(batch, "shape", ())
    size = 1.0
    for dimension in shape or ():
        size *= dimension or 1
    return size
