"""Sees every call and every trace of a `tf.function`, and which of them update weights."""

from __future__ import annotations

import functools
import os
import sys
import weakref
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from unslow.model import Phase
from unslow.record.frames import UserCode
from unslow.record.probe import Probe
from unslow.record.recorder import Lane, clock
from unslow.record.signatures import code_place, describe, weights_of
from unslow.record.steps import UPDATES

_RUN, _TRACE = int(Phase.RUN), int(Phase.TRACE)
# Attributes of ours on a tf.function: its number, calls that traced nothing [count, nanoseconds], where it was made.
_NUMBER, _CALLS, _MADE = "_unslow_number", "_unslow_calls", "_unslow_made"
_TRACED = "_unslow_traced"
_LAST_WORDS = 500
_RAN = "_unslow_ran"  # its call that is under way runs a graph which writes weights


class Functions(Probe):
    name = "functions"

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._count = 0
        self._context: Any = None
        self._traces = [0, 0]  # traces so far, and their nanoseconds: outermost ones only
        self._exact = [False]  # whether it is known which graph a call runs
        self._owners: dict[int, weakref.ref[Any]] = {}  # by the id of a function's cache of traces

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        place = "tensorflow.python.eager.polymorphic_function"
        return {
            # Seen on 2.15 to 2.21. Without it retraces go unseen, and the probe is reported as lost.
            f"{place}.tracing_compilation": self._on_tracing,
            f"{place}.polymorphic_function": self._on_function,
            f"{place}.concrete_function": self._on_concrete,
            "tensorflow.python.eager.context": self._on_context,
        }

    def _on_context(self, module: ModuleType) -> None:
        self._context = module

    def _on_function(self, module: ModuleType) -> None:
        self.replace(module.Function, "__call__", self._call)
        self.replace(module.Function, "__init__", self._init)

    def _on_concrete(self, module: ModuleType) -> None:
        # Seen on 2.15 to 2.21. Without it a function that trains in one mode counts as training in every mode.
        if hasattr(module.ConcreteFunction, "_call_flat"):
            self.replace(module.ConcreteFunction, "_call_flat", self._call_graph)
            self._exact[0] = True

    def _on_tracing(self, module: ModuleType) -> None:
        self.replace(module, "_create_concrete_function", self._create)

    def _init(self, original: Callable[..., Any]) -> Callable[..., Any]:
        made = self._made

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            made(self, sys._getframe(1))

        return __init__

    def _made(self, function: Any, frame: FrameType | None) -> None:
        """Number a new tf.function, and note who made it and from where."""
        try:
            self._count += 1
            known = vars(function)
            known[_NUMBER] = self._count
            known[_CALLS] = [0, 0]
            known[_MADE] = (way_to_user(frame, self.recorder.user), self.recorder.user.stack(frame, 3))
            key = id(function._function_cache)
            self._owners[key] = weakref.ref(function, functools.partial(self._gone, key))
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _gone(self, key: int, function: weakref.ref[Any]) -> None:
        if self._owners.get(key) is function:
            del self._owners[key]

    def _call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local = self.recorder.local
        close = self.recorder.close_span
        updated, mark_updating = self._updated, self.steps.mark_updating
        traces, first_run, exact = self._traces, self._first_run, self._exact

        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
            lane = local.lane
            if lane.tracing or lane.busy:
                result = original(self, *args, **kwargs)
                if UPDATES in self.__dict__ and not exact[0]:
                    mark_updating()
                return result
            functions = lane.functions
            functions.append(self)
            before, traced = traces
            own = lane.own
            entry = [_RUN, clock(), 0]
            lane.stack.append(entry)
            failed = True  # the end of the data, an error: no weights were updated
            try:
                result = original(self, *args, **kwargs)
                failed = False
                return result
            finally:
                took = close(lane, entry)
                functions.pop()
                known = self.__dict__
                if traces[0] != before:
                    first_run(lane, self, took - (lane.own - own), traces[1] - traced, sys._getframe(1))
                elif _CALLS in known:
                    calls = known[_CALLS]
                    calls[0] += 1
                    calls[1] += took
                if UPDATES in known and not functions:
                    wrote = known.pop(_RAN, False) or not exact[0]
                    if wrote and not failed and not lane.updating:
                        updated(lane, self, args, sys._getframe(1))

        return __call__

    def _call_graph(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """One graph is run: within a call of its function, inside another graph, or by itself."""
        local, close = self.recorder.local, self.recorder.close_span
        updated, mark_updating, user = self._updated, self.steps.mark_updating, self.recorder.user

        def _call_flat(self: Any, *args: Any, **kwargs: Any) -> Any:
            lane = local.lane
            if not getattr(self.graph, UPDATES, False) or lane.busy:
                return original(self, *args, **kwargs)
            if lane.tracing:
                mark_updating()
            elif lane.functions:
                lane.functions[0].__dict__[_RAN] = True
            if lane.tracing or lane.functions or lane.updating:
                return original(self, *args, **kwargs)
            entry = [_RUN, clock(), 0]
            lane.stack.append(entry)
            try:
                result = original(self, *args, **kwargs)
            finally:
                close(lane, entry)
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and not user.owns(frame.f_code):
                frame = frame.f_back
            updated(lane, self, (), frame)
            return result

        return _call_flat

    def _first_run(self, lane: Lane, function: Any, took: int, traced: int, frame: FrameType | None) -> None:
        """A call that traced: the rest of its time beyond a usual call is the graph being prepared."""
        try:
            began = clock()
            known = vars(function)
            name, place = str(function._name), code_place(function._python_function)
            calls, calls_took = known.get(_CALLS, (0, 0))
            key = f"{name}@{place}"
            if self.recorder.wants("first_run", key):
                self.recorder.fact(
                    "first_run", key, took, name=name, place=place, function=known.get(_NUMBER, 0), traced_ns=traced,
                    calls=calls, calls_took_ns=calls_took, step=self.steps.total, stack=self.recorder.stack(frame),
                )  # fmt: skip
            else:
                self.recorder.fact("first_run", key, took)
            spent = clock() - began
            lane.own += spent
            self.recorder.looks += spent
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _updated(self, lane: Lane, function: Any, args: tuple[Any, ...], frame: FrameType | None) -> None:
        if self._context is None or not self._context.executing_eagerly():
            return
        try:
            self._measure(lane, args)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")
        self.steps.ended(lane, "function", function, str(getattr(function, "_name", "")), frame)

    def _measure(self, lane: Lane, args: tuple[Any, ...]) -> None:
        """The size of the batch: numbers in the first tensor that the step is given."""
        for value in args:
            shape_of = getattr(value, "_shape_tuple", None)
            if shape_of is not None:
                size = 1.0
                for dimension in shape_of() or ():
                    size *= dimension or 1
                lane.elements = size
                return

    def _create(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local = self.recorder.local
        close = self.recorder.close_span
        traced, traces = self._traced, self._traces

        def _create_concrete_function(
            function_type: Any, type_context: Any, func_graph: Any, tracing_options: Any
        ) -> Any:
            lane = local.lane
            if lane.busy:
                return original(function_type, type_context, func_graph, tracing_options)
            lane.tracing += 1
            entry = [_TRACE, clock(), 0]
            lane.stack.append(entry)
            concrete = None
            try:
                concrete = original(function_type, type_context, func_graph, tracing_options)
                return concrete
            finally:
                lane.tracing -= 1
                own = entry[2]
                took = close(lane, entry)
                if not lane.tracing:
                    traces[0] += 1
                    traces[1] += took
                traced(lane, took, own, concrete, function_type, tracing_options)

        return _create_concrete_function

    def _traced(self, lane: Lane, took: int, inner: int, concrete: Any, function_type: Any, options: Any) -> None:
        try:
            self._note_trace(lane, took, inner, concrete, function_type, options)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _note_trace(self, lane: Lane, took: int, inner: int, concrete: Any, function_type: Any, options: Any) -> None:
        graph = getattr(concrete, "graph", None)
        place = code_place(options.python_function)
        owner = self._owner(lane, place, options)
        if owner is not None and graph is not None and getattr(graph, UPDATES, False):
            owner.__dict__[UPDATES] = True
        if owner is not None:
            owner.__dict__[_TRACED] = True
        name = str(options.name)
        key = f"{name}@{place}"
        began = clock()
        if self.recorder.wants("trace", key):
            known = vars(owner) if owner is not None else {}
            way, made = known.get(_MADE, ("", []))
            self.recorder.fact(
                "trace", key, took, name=name, place=place, function=known.get(_NUMBER, 0), depth=lane.tracing,
                inner_ns=inner, failed=concrete is None, args=describe(function_type), way=way, made=made,
                nodes=len(graph.get_operations()) if graph is not None else 0,
                updates=graph is not None and getattr(graph, UPDATES, False),
                jit=bool(getattr(owner, "_jit_compile", False)), step=self.steps.total,
                relaxed=bool(getattr(options, "reduce_retracing", False)), weights=weights_of(graph),
                stack=self.recorder.stack(sys._getframe(3)),
            )  # fmt: skip
        else:
            self.recorder.fact("trace", key, took)
        spent = clock() - began
        lane.own += spent
        self.recorder.looks += spent

    def disarm(self) -> None:
        """The last word on every function that was traced, so that its calls are counted to the end."""
        for held in list(self._owners.values())[:_LAST_WORDS]:
            known = vars(held() or object)
            if _TRACED in known:
                calls, took = known[_CALLS]
                self.recorder.line("function", clock(), function=known[_NUMBER], calls=calls, calls_took_ns=took)
        super().disarm()

    def _owner(self, lane: Lane, place: list[Any], options: Any) -> Any:
        """The tf.function that is being traced: the one that holds this cache of traces."""
        held = self._owners.get(id(options.function_cache))
        owner = held() if held is not None else None
        if owner is not None and owner._function_cache is options.function_cache:
            return owner
        calling = lane.functions[-1] if lane.functions else None
        same = calling is not None and code_place(getattr(calling, "_python_function", None)) == place
        return calling if same else None


def way_to_user(frame: FrameType | None, user: UserCode) -> str:
    """Who made a tf.function: "direct" for the user's own line, "method" for an instance, or the library that did."""
    way = "direct"
    for _ in range(80):
        if frame is None or user.owns(frame.f_code):
            return way
        code = frame.f_code
        if f"{os.sep}keras{os.sep}" in code.co_filename or f"{os.sep}tf_keras{os.sep}" in code.co_filename:
            return "keras"
        if code.co_name == "class_method_to_instance_method":
            way = "method"
        elif f"{os.sep}data{os.sep}ops{os.sep}" in code.co_filename:
            way = "data"
        elif way == "direct" and not _makes_functions(code.co_filename):
            way = "library"
        frame = frame.f_back
    return way


def _makes_functions(file: str) -> bool:
    """The files that a plain `tf.function(…)` passes through."""
    return "polymorphic_function" in file or file.endswith(("deprecation.py", "tf_decorator.py"))
