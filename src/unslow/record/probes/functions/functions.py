"""Sees every call and every trace of a `tf.function`, and which of them update weights."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, ModuleType

from unslow.facts.functions import FirstRun
from unslow.facts.phase import Phase
from unslow.record.engine.fast_path import Departure, FastPath, Wrapped, fast_caller, no_path
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.lanes import SPAN_INNER, Lane, clock
from unslow.record.engine.live_objects import Living
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.traceback_filter import without_filter
from unslow.record.probes.functions.compiled import (
    Call,
    Compiled,
    InspectedCall,
    Traces,
    batch_size,
    shapes,
)
from unslow.record.probes.functions.registry import Registry, TraceDone
from unslow.record.probes.functions.signatures import code_place

_RUN, _TRACE = int(Phase.RUN), int(Phase.TRACE)


class Functions(Probe):
    name = "functions"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._registry = Registry(self.name, self.recorder, self.steps, self._tell_graphs_apart)
        self._context: Foreign = None
        self._concrete: Foreign = None
        self._traces = Traces()
        self._resets = 0  # how often TensorFlow threw away its prepared kernels
        self._follow: Callable[[FastPath], None] = no_path
        self.recorder.signals.kernels_reset.subscribe(self.name, self._kernels_reset)

    def _kernels_reset(self) -> None:
        self._resets += 1

    def doors(self) -> Doors:
        place = "tensorflow.python.eager.polymorphic_function"
        return {
            # Seen on 2.15 to 2.21. Without it the probe is reported as lost.
            f"{place}.tracing_compilation": self.wrapping(
                {"_create_concrete_function": self._create}
            ),
            f"{place}.polymorphic_function": self.wrapping(
                {"Function.__call__": self._call, "Function.__init__": self._init}
            ),
            f"{place}.concrete_function": self._on_concrete,
            "tensorflow.python.eager.context": self._on_context,
        }

    def _on_context(self, module: ModuleType) -> None:
        self._context = self._registry.context = module

    def _on_concrete(self, module: ModuleType) -> None:
        self._concrete = module.ConcreteFunction

    def inherit(self, living: Living) -> None:
        self._registry.inherit(living.functions)

    def _tell_graphs_apart(self) -> None:
        """A function trains in one mode and not in another: each call must say which graph it runs.

        Seen on 2.15 to 2.21. Without it such a function counts as training in every mode.
        """
        concrete, self._concrete = self._concrete, None
        if concrete is not None and hasattr(concrete, "_call_flat"):
            self.replace(concrete, "_call_flat", self._run_graph)

    def _init(self, original: Function) -> Function:
        made = self._registry.made

        def __init__(self: object, *args: object, **kwargs: object) -> None:
            original(self, *args, **kwargs)
            made(self, sys._getframe().f_back)

        return __init__

    def _call(self, original: Function) -> Function:
        plain, raised = without_filter(original)
        wrapped = Wrapped(
            original,
            plain,
            raised,
            in_full=self._in_full(original),
            departed=self._departed,
            failed=self._repetition_failed,
            settle=self.steps.settle,
        )
        wrapper, self._follow = fast_caller(wrapped)
        return wrapper

    def _in_full(self, original: Function) -> Function:
        local, getframe, mark_updating = (
            self.recorder.local,
            sys._getframe,
            self.steps.mark_updating,
        )
        known_of, meet = self._registry.known.by_id.get, self._registry.meet
        begin, done, failed = self._begin, self._done, self._failed

        def __call__(self: object, *args: object, **kwargs: object) -> object:
            lane = local.lane
            known = known_of(id(self)) or meet(self)
            if lane.tracing or lane.busy:
                result = original(self, *args, **kwargs)
                if lane.tracing and known.always_writes():
                    mark_updating()
                return result
            call = Call(lane, self, known, args, kwargs)
            begin(call)
            try:
                result = original(self, *args, **kwargs)
            except BaseException:  # the end of the data, an error: no weights were updated
                failed(call)
                raise
            done(call, getframe(1).f_back)
            return result

        return __call__

    def _begin(self, call: Call) -> None:
        known, lane = call.known, call.lane
        if not lane.functions and (not known.fixed or known.resets != self._resets):
            call.inspected = True
            self.recorder.signals.call_begins.send(call)
        lane.called.append(call.function)
        call.traces, call.own = self._traces, lane.own
        call.span = self.recorder.open_span(lane, _RUN)

    def _failed(self, call: Call) -> None:
        self.recorder.close_span(call.lane, call.span)
        call.known.ran = False
        call.lane.called.pop()
        self.recorder.signals.call_raised.send(call.lane)

    def _repetition_failed(self) -> None:
        self.steps.leave_fast_path()
        self.recorder.signals.call_raised.send(self.recorder.local.lane)

    def _done(self, call: Call, frame: FrameType | None) -> None:
        """After a call: whether it was like the others, and what it means."""
        lane, known = call.lane, call.known
        lane.called.pop()
        took = self.recorder.close_span(lane, call.span) - (lane.own - call.own)
        try:
            if call.inspected or self._traces is not call.traces or took > known.limit:
                self._inspect(call, took, frame)
            else:
                known.tell(1, took, took)
            self._judge(call, frame)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _judge(self, call: Call, frame: FrameType | None) -> None:
        """Whether a call ends a step."""
        lane, known = call.lane, call.known
        if known.writes:
            wrote = known.ran or known.always_writes()
            known.ran = False
            if wrote and not lane.functions and not lane.updating:
                self._updated(call, frame)
            return
        lane.graded = lane.graded or known.way != "keras"  # what it returned may be gradients
        if not (self.steps.trains or lane.functions or known.legacy) and lane.within < 0:
            self.steps.repeated(lane, "function", call.function, known.name, frame)

    def _departed(self, departure: Departure) -> None:
        """A call that was taken for one more repetition: record it in full, after the fact."""
        path, function, lane = departure.path, departure.owner, self.recorder.local.lane
        known = self._registry.known.get(function) or self._registry.meet(function)
        call = Call(lane, function, known, departure.args, departure.kwargs)
        call.traces = path.traces
        traced = self._traces.took - path.traces.took
        self.steps.leave_fast_path()
        began = departure.began + (clock() - departure.ended)
        call.span, call.own = [_RUN, began, traced], lane.own
        lane.stack.append(call.span)  # as if it had been seen from its start
        lane.called.append(function)
        self._done(call, departure.frame)

    def _run_graph(self, original: Function) -> Function:
        local, steps, known_of = self.recorder.local, self.steps, self._registry.known.get

        def _call_flat(self: Foreign, *args: object, **kwargs: object) -> object:
            lane = local.lane
            if not lane.busy and steps.is_updating(self.graph):
                if lane.tracing:
                    steps.mark_updating()
                elif lane.functions:
                    known = known_of(lane.functions[0])
                    if known is not None:
                        known.ran = True
            return original(self, *args, **kwargs)

        return _call_flat

    def _inspect(self, call: Call, took: int, frame: FrameType | None) -> None:
        """A call that traced, took long or is one of the first."""
        known, lane = call.known, call.lane
        traced = self._traces.took - call.traces.took
        if self._traces is not call.traces:
            self._first_run(call, took, traced, frame)
        else:
            known.calls += 1
            known.took += took
        if lane.functions:
            return
        began = clock()
        key = shapes(call.args, call.kwargs)
        why = known.unusual(took, traced, key, self._resets)
        if why:
            unusual = InspectedCall(call, took, traced, key, why)
            self.recorder.signals.call_was_unusual.send(unusual)
        known.inspected()
        self.recorder.keep_out(lane, clock() - began, self.name)

    def _first_run(self, call: Call, took: int, traced: int, frame: FrameType | None) -> None:
        """A call that traced: its time beyond the trace and a usual call prepared the graph."""
        began = clock()
        function, known = call.function, call.known
        name, place = str(function._name), code_place(function._python_function)
        key = f"{name}@{place}"
        if self.recorder.wants(FirstRun, key):
            self.recorder.emit(
                FirstRun(
                    key=key,
                    took=took,
                    name=name,
                    place=place,
                    function=known.number,
                    traced=traced,
                    calls=known.calls,
                    calls_took=known.took,
                    step=self.steps.total,
                    stack=self.recorder.stack(frame),
                )
            )
        else:
            self.recorder.count(FirstRun, key, took)
        self.recorder.keep_out(call.lane, clock() - began, self.name)

    def _updated(self, call: Call, frame: FrameType | None) -> None:
        lane, known = call.lane, call.known
        if known.legacy and not self._context.executing_eagerly():
            return
        size = known.size if known.size >= 0 else batch_size(call.args)
        lane.elements = max(lane.elements, size)
        if known.traces == 1 and not known.open and not known.legacy:
            known.size = size
        self.steps.ended(lane, "function", call.function, known.name, frame)
        repeats = known.size >= 0 and known.fixed
        if repeats and frame is not None and lane.fast_path is None and not lane.stack:
            self._repeat(lane, call.function, known, frame)

    def _repeat(self, lane: Lane, function: object, known: Compiled, frame: FrameType) -> None:
        path = self.steps.enter_fast_path(lane, function, frame)
        if path is not None:
            path.elements, path.limit, path.counted = known.size, known.limit, known.tell
            path.traces = self._traces
            self._follow(path)

    def _create(self, original: Function) -> Function:
        recorder, local = self.recorder, self.recorder.local
        probe, traced = self, self._registry.traced

        def _create_concrete_function(
            function_type: object, type_context: object, func_graph: object, tracing_options: object
        ) -> object:
            lane = local.lane
            if lane.busy:
                return original(function_type, type_context, func_graph, tracing_options)
            lane.tracing += 1
            recorder.signals.trace_begins.send()
            if lane.fast_path is not None:
                lane.fast_path.stop()  # a call that traces is not like the others, however short
            span = recorder.open_span(lane, _TRACE)
            concrete = None
            try:
                concrete = original(function_type, type_context, func_graph, tracing_options)
                return concrete
            finally:
                lane.tracing -= 1
                inner = span[SPAN_INNER]
                took = recorder.close_span(lane, span)
                if not lane.tracing:
                    probe._traces = Traces(probe._traces.number + 1, probe._traces.took + took)
                traced(lane, TraceDone(took, inner, concrete, function_type, tracing_options))

        return _create_concrete_function

    def disarm(self) -> None:
        self._registry.write_totals()
        super().disarm()
