"""Sees data reaching a step: waits in Python for the next batch, and Python code that tf.data runs."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from unslow.model import Phase
from unslow.record.probe import Probe
from unslow.record.recorder import clock
from unslow.record.signatures import code_place

_INPUT = int(Phase.INPUT)
_EVAL = int(Phase.EVAL)
FETCHED = "_unslow_fetched"  # an attribute of an iterator: batches fetched in Python, and the nanoseconds of it
_MOST_FUNCTIONS = 500
_MOST_LINES = 2000


class Input(Probe):
    name = "input"

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._python: dict[Any, list[Any]] = {}  # token of a Python function → calls, wall, processor, written, place
        self._running: dict[int, Any] = {}  # thread → the token of the Python function that it runs
        self._lines: dict[tuple[Any, ...], list[int]] = {}  # token and user's frames → samples, samples written
        self.watcher.looks.append(self._write_python)
        self.watcher.peeks.append(self._peek)

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        return {
            "tensorflow.python.data.ops.iterator_ops": self._on_iterators,
            "tensorflow.python.data.ops.dataset_ops": self._on_datasets,
            "tensorflow.python.distribute.input_lib": self._on_distributed,
            "tensorflow.python.ops.script_ops": self._on_python_functions,
        }

    def _on_iterators(self, module: ModuleType) -> None:
        self.replace(module.OwnedIterator, "__next__", self._next)
        self.replace(module.OwnedIterator, "get_next", self._next)

    def _on_datasets(self, module: ModuleType) -> None:
        for name in ("NumpyIterator", "_NumpyIterator"):
            if hasattr(module, name):
                self.replace(getattr(module, name), "__next__", self._next)

    def _on_distributed(self, module: ModuleType) -> None:
        self.replace(module.DistributedIteratorBase, "__next__", self._next)
        self.replace(module.DistributedIteratorBase, "get_next", self._next)

    def _next(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local, close, tally = self.recorder.local, self.recorder.close_span, self.recorder.tally

        def fetch(self: Any, *args: Any, **kwargs: Any) -> Any:
            lane = local.lane
            if lane.tracing or lane.busy or (lane.stack and lane.stack[-1][0] == _INPUT):
                return original(self, *args, **kwargs)
            entry = [_INPUT, clock(), 0]
            lane.stack.append(entry)
            try:
                result = original(self, *args, **kwargs)
            finally:
                took = close(lane, entry)
                counts = getattr(self, "_iterator", self).__dict__.get(FETCHED)  # NumPy's iterator holds the real one
                if counts is not None:
                    counts[0] += 1
                    counts[1] += took
            if lane.within != _EVAL:
                lane.elements = _elements(result)
                tally("next", sys._getframe(1), took, lane.elements)
            return result

        return fetch

    # Python code inside of a pipeline: from_generator, py_function, numpy_function

    def _on_python_functions(self, module: ModuleType) -> None:
        # Called by TensorFlow's own threads for every Python function in a graph, on 2.15 to 2.21.
        self.replace(module.FuncRegistry, "__call__", self._python_call)

    def _python_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        known, begin, running = self._python, self._python_function, self._running
        local = self.recorder.local

        def __call__(self: Any, token: Any, device: Any, args: Any) -> Any:
            entry = known.get(token)
            if entry is None:
                entry = begin(self, token)
            thread = threading.get_ident()
            running[thread] = token
            local.lane.busy, busy = True, local.lane.busy  # what it calls is not a phase of any step
            began, ran = clock(), time.thread_time_ns()
            try:
                return original(self, token, device, args)
            finally:
                entry[0] += 1
                entry[1] += clock() - began
                entry[2] += time.thread_time_ns() - ran
                local.lane.busy = busy
                running.pop(thread, None)

        return __call__

    def _python_function(self, registry: Any, token: Any) -> list[Any]:
        if len(self._python) > _MOST_FUNCTIONS:
            return [0, 0, 0, 0, None]
        function = registry.get(token, None)
        function = getattr(function, "_func", function)  # py_function keeps it in an object
        entry = [0, 0, 0, 0, self._function_place(function)]
        self._python[token] = entry
        return entry

    def _function_place(self, function: Any) -> list[Any]:
        place = code_place(function)
        if place[0]:
            self.recorder.keep_source(place[0])
        return place

    def _peek(self) -> None:
        """Which of the user's lines run in the pipeline's own threads right now."""
        if not self._running:
            return
        frames = sys._current_frames()
        for thread, token in list(self._running.items()):
            stack = self.recorder.stack(frames.get(thread))
            if stack and len(self._lines) < _MOST_LINES:
                self._lines.setdefault((token, *stack), [0, 0])[0] += 1

    def _write_python(self) -> None:
        """Running totals, written when they have grown by a tenth."""
        for (token, *stack), counts in list(self._lines.items()):
            if counts[0] > counts[1] * 1.1:
                counts[1] = counts[0]
                self.recorder.line("python_line", clock(), token=str(token), count=counts[0], stack=stack)
        for token, entry in list(self._python.items()):
            calls, wall, ran, written, place = entry
            if calls > written * 1.1:
                entry[3] = calls
                self.recorder.line(
                    "python_function", clock(), token=str(token), count=calls, took_ns=wall, ran_ns=ran, place=place,
                    step=self.steps.total,
                )  # fmt: skip


def _elements(batch: Any) -> float:
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
