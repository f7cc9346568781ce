"""Every `tf.function` of the program, by number, with who made it; and every trace of it."""

from __future__ import annotations

import functools
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from types import FrameType
from typing import NamedTuple

from unslow.facts.functions import FunctionTotals, Trace, TracedBefore
from unslow.facts.schema import Place, stack_of
from unslow.record.engine.fence import Fence
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.recorder import Lane, Recorder, clock
from unslow.record.engine.steps import Steps
from unslow.record.engine.weak_table import WeakTable
from unslow.record.probes.functions.compiled import (
    Compiled,
    holds_update,
    traces_of,
    way_of_code,
    way_to_user,
)
from unslow.record.probes.functions.graph_precision import ops_by_precision
from unslow.record.probes.functions.signatures import code_place, describe, weights_of

_MOST_TOTALS = 500  # functions whose totals are written at the end
_MOST_GRAPHS = 4  # of a function that was traced before: reading a large one takes 10 ms
_LONGEST = 30_000_000  # nanoseconds of work in which the functions that are there are read


class TraceDone(NamedTuple):
    """A trace that ended; without a concrete function it failed."""

    took: int  # nanoseconds
    inner: int  # of them, traces inside it
    concrete: Foreign
    function_type: Foreign
    options: Foreign


class Registry:
    def __init__(
        self, name: str, recorder: Recorder, steps: Steps, mixed: Callable[[], None]
    ) -> None:
        self.context: Foreign = None  # TensorFlow's module of that name
        self._name = name  # of the probe that this is a part of
        self._fence = Fence(recorder, name)
        self._recorder = recorder
        self._steps = steps
        self._mixed = mixed  # called when a function trains in one mode and not in another
        self.known: WeakTable[Compiled] = WeakTable()  # by tf.function
        self._count = 0
        # By the id of a function's cache of traces.
        self._owners: dict[int, weakref.ref[Foreign]] = {}

    def made(self, function: Foreign, frame: FrameType | None) -> None:
        """Number a new tf.function, and note who made it and from where."""
        with self._fence:
            self._count += 1
            user = self._recorder.user
            made = stack_of(user.stack(frame, 3))
            known = Compiled(self._count, way_to_user(frame, user), made)
            known.name = str(function._name)
            self.known.put(function, known)
            self._own(function)

    def inherit(self, functions: Sequence[Foreign]) -> None:
        """Functions that were made before; those that time does not suffice for are met when
        called."""
        until = time.thread_time_ns() + _LONGEST
        for function in functions:
            if time.thread_time_ns() > until:
                return
            if self.known.get(function) is None and traces_of(function):
                known = self.meet(function)
                self._recorder.emit(
                    TracedBefore(
                        name=known.name,
                        place=code_place(function._python_function),
                        function=known.number,
                        traces=known.traces,
                        updates=known.writes > 0,
                    )
                )

    def meet(self, function: Foreign) -> Compiled:
        """A function that was made, and perhaps traced, before the recording began."""
        self._count += 1
        known = Compiled(self._count, "", ())
        self.known.put(function, known)
        with self._fence:
            known.name = str(function._name)
            known.way = way_of_code(code_place(function._python_function).file, self._recorder.user)
            self._own(function)
            self._learn_past(function, known, traces_of(function))
        return known

    def _learn_past(self, function: object, known: Compiled, traces: Sequence[Foreign]) -> None:
        """Read the graphs of the newest traces; the others are taken to be like them."""
        newest = traces[-_MOST_GRAPHS:]
        for concrete in newest:
            self._learn(function, known, concrete.graph, holds_update(concrete.graph))
        if known.writes == len(newest):
            known.writes = len(traces)
        known.traces = len(traces)

    def _own(self, function: Foreign) -> None:
        """A trace belongs to the function that owns the cache which it goes into."""
        key = id(function._function_cache)
        self._owners[key] = weakref.ref(function, functools.partial(self._owners.pop, key))

    def traced(self, lane: Lane, done: TraceDone) -> None:
        """Record a trace. Called by the wrapper around it."""
        with self._fence:
            self._note(lane, done)

    def write_totals(self) -> None:
        """Of every function that was traced, so that its calls are counted to the end."""
        for known in list(self.known.by_id.values())[:_MOST_TOTALS]:
            if known.number and known.traces:
                self._recorder.emit(
                    FunctionTotals(function=known.number, calls=known.calls, calls_took=known.took)
                )

    def _note(self, lane: Lane, done: TraceDone) -> None:
        options, graph = done.options, getattr(done.concrete, "graph", None)
        place = code_place(options.python_function)
        owner = self._owner(lane, place, options)
        known = self.known.get(owner)
        updates = graph is not None and self._steps.is_updating(graph)
        if known is not None and graph is not None:
            self._learn(owner, known, graph, updates)
        name = str(options.name)
        key = f"{name}@{place}"
        began = clock()
        if self._recorder.wants(Trace, key):
            if self._recorder.user.owns_file(place.file):  # no frame may ever be seen in it
                self._recorder.keep_source(place.file)
            precisions = ops_by_precision(graph)
            trace = Trace(
                key=key,
                took=done.took,
                name=name,
                place=place,
                depth=lane.tracing,
                inner=done.inner,
                failed=done.concrete is None,
                args=describe(done.function_type),
                nodes=len(graph.get_operations()) if graph is not None else 0,
                ops_float64=precisions["float64"],
                ops_float32=precisions["float32"],
                updates=updates,
                jit=bool(getattr(owner, "_jit_compile", False)),
                step=self._steps.total,
                relaxed=bool(getattr(options, "reduce_retracing", False)),
                weights=weights_of(graph),
                stack=self._recorder.stack(sys._getframe(2).f_back),
            )
            if known is not None:
                trace = trace.replace(function=known.number, way=known.way, made=known.made)
            self._recorder.emit(trace)
        else:
            self._recorder.count(Trace, key, done.took)
        self._recorder.keep_out(lane, clock() - began, self._name)

    def _learn(self, function: object, known: Compiled, graph: Foreign, updates: bool) -> None:
        known.traces += 1
        known.writes += updates
        known.size = -1.0
        fixed = all(tensor.shape.is_fully_defined() for tensor in graph.inputs)
        known.open = known.open or not fixed
        if updates:
            self._steps.writes_weights(graph)
            self._steps.writes_weights(function)
        if known.writes and known.writes != known.traces:
            self._mixed()
        if not self.context.executing_eagerly() and not hasattr(graph.outer_graph, "outer_graph"):
            known.legacy = True

    def _owner(self, lane: Lane, place: Place, options: Foreign) -> Foreign:
        """The tf.function that is being traced: the one that holds this cache of traces."""
        held = self._owners.get(id(options.function_cache))
        owner = held() if held is not None else None
        if owner is not None and owner._function_cache is options.function_cache:
            return owner
        calling = lane.functions[-1] if lane.functions else None
        same = code_place(getattr(calling, "_python_function", None)) == place
        return calling if same else None
