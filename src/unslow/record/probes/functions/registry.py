"""Every `tf.function` of the program, by number, with who made it; and every trace of it."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

from unslow.record.engine.recorder import Lane, Recorder, clock
from unslow.record.engine.steps import Steps
from unslow.record.engine.weak_table import WeakTable
from unslow.record.probes.functions.compiled import (
    Compiled,
    holds_update,
    way_of_code,
    way_to_user,
)
from unslow.record.probes.functions.signatures import code_place, describe, weights_of

_LAST_WORDS = 500


class Registry:
    def __init__(
        self, name: str, recorder: Recorder, steps: Steps, mixed: Callable[[], None]
    ) -> None:
        self.context: Any = None  # TensorFlow's module of that name
        self._name = name  # of the probe that this is a part of
        self._recorder = recorder
        self._steps = steps
        self._mixed = mixed  # told when a function trains in one mode and not in another
        self.known: WeakTable[Compiled] = WeakTable()  # by tf.function
        self._count = 0
        self._owners: dict[int, weakref.ref[Any]] = {}  # by the id of a function's cache of traces

    def made(self, function: Any, frame: FrameType | None) -> None:
        """Number a new tf.function, and note who made it and from where."""
        try:
            self._count += 1
            user = self._recorder.user
            known = Compiled(self._count, way_to_user(frame, user), user.stack(frame, 3))
            known.name = str(function._name)
            self.known.put(function, known)
            self._own(function)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self._lost(problem)

    def meet(self, function: Any) -> Compiled:
        """A function that was made, and perhaps traced, before the recording began."""
        self._count += 1
        known = Compiled(self._count, "", [])
        self.known.put(function, known)
        try:
            known.name = str(function._name)
            known.way = way_of_code(code_place(function._python_function)[0], self._recorder.user)
            self._own(function)
            for concrete in function._list_all_concrete_functions():
                self._learn(function, known, concrete.graph, holds_update(concrete.graph))
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self._lost(problem)
        return known

    def _own(self, function: Any) -> None:
        """Traces are told apart by the cache they go into."""
        key = id(function._function_cache)
        self._owners[key] = weakref.ref(function, functools.partial(self._gone, key))

    def traced(
        self, lane: Lane, took: int, inner: int, concrete: Any, function_type: Any, options: Any
    ) -> None:
        """A trace is done; without a concrete function it failed. Called by the wrapper around the trace."""
        try:
            self._note(lane, took, inner, concrete, function_type, options)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self._lost(problem)

    def last_words(self) -> None:
        """On every function that was traced, so that its calls are counted to the end."""
        for known in list(self.known.by_id.values())[:_LAST_WORDS]:
            if known.number and known.traces:
                self._recorder.line(
                    "function",
                    clock(),
                    function=known.number,
                    calls=known.calls,
                    calls_took_ns=known.took,
                )

    def _note(
        self, lane: Lane, took: int, inner: int, concrete: Any, function_type: Any, options: Any
    ) -> None:
        graph = getattr(concrete, "graph", None)
        place = code_place(options.python_function)
        owner = self._owner(lane, place, options)
        known = self.known.get(owner)
        updates = graph is not None and self._steps.is_updating(graph)
        if known is not None and graph is not None:
            self._learn(owner, known, graph, updates)
        name = str(options.name)
        key = f"{name}@{place}"
        began = clock()
        if self._recorder.wants("trace", key):
            self._recorder.fact(
                "trace",
                key,
                took,
                name=name,
                place=place,
                function=known.number if known else 0,
                depth=lane.tracing,
                inner_ns=inner,
                failed=concrete is None,
                args=describe(function_type),
                way=known.way if known else "",
                made=known.made if known else [],
                nodes=len(graph.get_operations()) if graph is not None else 0,
                updates=updates,
                jit=bool(getattr(owner, "_jit_compile", False)),
                step=self._steps.total,
                relaxed=bool(getattr(options, "reduce_retracing", False)),
                weights=weights_of(graph),
                stack=self._recorder.stack(sys._getframe(2).f_back),
            )
        else:
            self._recorder.fact("trace", key, took)
        self._recorder.keep_out(lane, clock() - began, self._name)

    def _learn(self, function: Any, known: Compiled, graph: Any, updates: bool) -> None:
        known.traces += 1
        known.writes += updates
        known.size = -1.0
        known.open = known.open or not all(
            tensor.shape.is_fully_defined() for tensor in graph.inputs
        )
        if updates:
            self._steps.writes_weights(graph)
            self._steps.writes_weights(function)
        if known.writes and known.writes != known.traces:
            self._mixed()
        if not self.context.executing_eagerly() and not hasattr(graph.outer_graph, "outer_graph"):
            known.legacy = True

    def _owner(self, lane: Lane, place: list[Any], options: Any) -> Any:
        """The tf.function that is being traced: the one that holds this cache of traces."""
        held = self._owners.get(id(options.function_cache))
        owner = held() if held is not None else None
        if owner is not None and owner._function_cache is options.function_cache:
            return owner
        calling = lane.functions[-1] if lane.functions else None
        same = (
            calling is not None and code_place(getattr(calling, "_python_function", None)) == place
        )
        return calling if same else None

    def _gone(self, key: int, function: weakref.ref[Any]) -> None:
        if self._owners.get(key) is function:
            del self._owners[key]

    def _lost(self, problem: Exception) -> None:
        self._recorder.lost(self._name, f"{type(problem).__name__}: {problem}")
