"""Sees every call and every trace of a `tf.function`, and which of them update weights."""

from __future__ import annotations

import _thread
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any, cast

from unslow.facts.phase import Phase
from unslow.record.engine.fast_path import Streak, nobody
from unslow.record.engine.probe import Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.engine.steps import UPDATES
from unslow.record.engine.traceback_filter import without_filter
from unslow.record.probes.functions.compiled import KNOWN, Compiled, batch_size
from unslow.record.probes.functions.registry import Registry
from unslow.record.probes.functions.signatures import code_place

_RUN, _TRACE = int(Phase.RUN), int(Phase.TRACE)

_Call = tuple[
    list[int], bool, int, int, int
]  # its span; whether it is looked at; traces, their ns, our own ns by then


class Functions(Probe):
    name = "functions"

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._registry = Registry(self.name, self.recorder, self.steps, self._tell_graphs_apart)
        self._context: Any = None
        self._concrete: Any = None
        self._traces = [0, 0]  # traces so far, and their nanoseconds: outermost ones only
        self._follow: Callable[[Streak], None] = (
            nobody  # makes the wrapper of calls only note the next ones
        )

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
        self._context = self._registry.context = module

    def _on_function(self, module: ModuleType) -> None:
        self.replace(module.Function, "__call__", self._call)
        self.replace(module.Function, "__init__", self._init)

    def _on_concrete(self, module: ModuleType) -> None:
        self._concrete = module.ConcreteFunction

    def _on_tracing(self, module: ModuleType) -> None:
        self.replace(module, "_create_concrete_function", self._create)

    def _tell_graphs_apart(self) -> None:
        """A function trains in one mode and not in another: from here on each call says which graph it runs.

        Seen on 2.15 to 2.21. Without it such a function counts as training in every mode.
        """
        concrete, self._concrete = self._concrete, None
        if concrete is not None and hasattr(concrete, "_call_flat"):
            self.replace(concrete, "_call_flat", self._run_graph)

    def _init(self, original: Callable[..., Any]) -> Callable[..., Any]:
        made = self._registry.made

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            made(self, sys._getframe().f_back)

        return __init__

    def _call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local, getframe, ident = self.recorder.local, sys._getframe, _thread.get_ident
        settle, mark_updating = self.steps.settle, self.steps.mark_updating
        begin, done, failed, odd, meet = (
            self._begin,
            self._done,
            self._failed,
            self._odd,
            self._registry.meet,
        )
        unfiltered, raised = without_filter(original)
        # Of the streak that is under way.
        owner = thread = left = calls = limit = last = middle = above_last = far = far_last = 0
        streak = lane = note = stack = code = above = cast(Any, None)

        def stop() -> None:
            nonlocal owner, note
            owner = 0
            note = None

        def follow(begun: Streak) -> None:
            nonlocal streak, lane, owner, thread, stack, note, left, calls, limit
            nonlocal code, last, middle, above, above_last, far, far_last
            begun.stop = stop
            code, last, middle, above, above_last, far, far_last = begun.place
            streak, lane, note, limit = begun, begun.lane, begun.note, begun.limit
            thread, stack = lane.thread, lane.stack
            left, calls, owner = begun.left, begun.calls, begun.owner

        self._follow = follow

        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal left, calls
            noted = note  # first, since another thread may end the streak at any time: first its owner goes, then this
            if owner == id(self) and thread == ident() and not stack:
                began = clock()
                noted(began)
                try:
                    result = unfiltered(self, *args, **kwargs)
                except BaseException as error:
                    failed(lane, None, None)
                    raised(error)
                    raise
                now = clock()
                try:
                    here, up = getframe(1), getframe(middle)
                    alike = (
                        here.f_lasti == last
                        and up.f_lasti == above_last
                        and here.f_code is code
                        and up.f_code is above
                        and getframe(far).f_lasti == far_last
                        and now - began <= limit
                        and note is noted
                    )
                except ValueError:  # the stack is not as deep
                    alike = False
                if not alike:
                    odd(lane, self, streak, began, now, args, kwargs, getframe().f_back)
                    return result
                if lane.calls != calls:
                    lane.elements = streak.elements or lane.elements
                    streak.gather()
                    calls = streak.calls
                noted(now)
                left -= 1
                if not left:
                    settle(streak)
                    left, calls = streak.left, streak.calls
                return result
            mine = local.lane
            known = self.__dict__.get(KNOWN) or meet(self)
            if mine.tracing or mine.busy:
                result = original(self, *args, **kwargs)
                if mine.tracing and known.writes and known.writes == known.traces:
                    mark_updating()
                return result
            call = begin(mine, self, known, args, kwargs)
            try:
                result = original(self, *args, **kwargs)
            except BaseException:  # the end of the data, an error: no weights were updated
                failed(mine, call, known)
                raise
            done(mine, self, known, call, args, kwargs, getframe().f_back)
            return result

        return __call__

    def _begin(
        self,
        lane: Lane,
        function: Any,
        known: Compiled,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> _Call:
        """Before a call: its span, whether it is looked at closely, what was traced and spent by then."""
        calls = self.recorder.calls
        watched = calls is not None and (
            not (known.fixed or lane.functions) or known.resets != calls.resets[0]
        )
        if watched:
            calls.prepare(lane, function, known, args, kwargs)
        lane.called.append(function)
        return (
            self.recorder.open_span(lane, _RUN),
            watched,
            self._traces[0],
            self._traces[1],
            lane.own,
        )

    def _failed(self, lane: Lane, call: _Call | None, known: Compiled | None) -> None:
        if call is None or known is None:
            self.steps.end_streak()
        else:
            self.recorder.close_span(lane, call[0])
            known.ran = False
            lane.called.pop()
        if self.recorder.calls is not None:
            self.recorder.calls.given_up(lane)

    def _done(
        self,
        lane: Lane,
        function: Any,
        known: Compiled,
        call: _Call,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        frame: FrameType | None,
    ) -> None:
        """After a call: whether it was like the others, and what it means."""
        entry, watched, before, traced, own = call
        lane.called.pop()
        took = self.recorder.close_span(lane, entry) - (lane.own - own)
        anew = self._traces[0] != before
        try:
            if watched or anew or took > known.limit:
                self._unusual(
                    lane, function, known, took, anew, self._traces[1] - traced, args, kwargs, frame
                )
            else:
                known.tell(1, took, took)
            self._judge(lane, function, known, args, frame)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _judge(
        self,
        lane: Lane,
        function: Any,
        known: Compiled,
        args: tuple[Any, ...],
        frame: FrameType | None,
    ) -> None:
        """Whether a call ends a step."""
        if known.writes:
            wrote = known.ran or known.writes == known.traces
            known.ran = False
            if wrote and not lane.functions and not lane.updating:
                self._updated(lane, function, known, args, frame)
            return
        lane.graded = lane.graded or known.way != "keras"  # what it returned may be gradients
        if not (self.steps.trains[0] or lane.functions or known.legacy) and lane.within < 0:
            self.steps.repeated(lane, "function", function, known.name, frame)

    def _odd(
        self,
        lane: Lane,
        function: Any,
        streak: Streak,
        began: int,
        ended: int,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        frame: FrameType | None,
    ) -> None:
        """A call that was taken for one more of a streak, and is not."""
        known, traced = vars(function)[KNOWN], self._traces[1] - streak.traced
        self.steps.end_streak()
        entry = self.recorder.open_span(lane, _RUN)
        entry[1:] = began + (clock() - ended), traced
        lane.called.append(function)
        self._done(
            lane,
            function,
            known,
            (entry, False, streak.traces, streak.traced, lane.own),
            args,
            kwargs,
            frame,
        )

    def _run_graph(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local, mark_updating = self.recorder.local, self.steps.mark_updating

        def _call_flat(self: Any, *args: Any, **kwargs: Any) -> Any:
            lane = local.lane
            if not lane.busy and getattr(self.graph, UPDATES, False):
                if lane.tracing:
                    mark_updating()
                elif lane.functions:
                    known = lane.functions[0].__dict__.get(KNOWN)
                    if known is not None:
                        known.ran = True
            return original(self, *args, **kwargs)

        return _call_flat

    def _unusual(
        self,
        lane: Lane,
        function: Any,
        known: Compiled,
        took: int,
        anew: bool,
        traced: int,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        frame: FrameType | None,
    ) -> None:
        """A call that traced, took long or is one of the first."""
        if anew:
            self._first_run(lane, function, known, took, traced, frame)
        else:
            known.calls += 1
            known.took += took
        if not lane.functions and self.recorder.calls is not None:
            self.recorder.calls.judge(lane, function, known, took, traced, args, kwargs)

    def _first_run(
        self,
        lane: Lane,
        function: Any,
        known: Compiled,
        took: int,
        traced: int,
        frame: FrameType | None,
    ) -> None:
        """A call that traced: the rest of its time beyond a usual call is the graph being prepared."""
        try:
            began = clock()
            name, place = str(function._name), code_place(function._python_function)
            key = f"{name}@{place}"
            if self.recorder.wants("first_run", key):
                self.recorder.fact(
                    "first_run",
                    key,
                    took,
                    name=name,
                    place=place,
                    function=known.number,
                    traced_ns=traced,
                    calls=known.calls,
                    calls_took_ns=known.took,
                    step=self.steps.total,
                    stack=self.recorder.stack(frame),
                )
            else:
                self.recorder.fact("first_run", key, took)
            self.recorder.keep_out(lane, clock() - began, self.name)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _updated(
        self,
        lane: Lane,
        function: Any,
        known: Compiled,
        args: tuple[Any, ...],
        frame: FrameType | None,
    ) -> None:
        if known.legacy and not self._context.executing_eagerly():
            return
        size = known.size if known.size >= 0 else batch_size(args)
        lane.elements = size or lane.elements
        if known.traces == 1 and not known.open and not known.legacy:
            known.size = size
        self.steps.ended(lane, "function", function, known.name, frame)
        if (
            frame is not None
            and known.size >= 0
            and known.fixed
            and lane.streak is None
            and not lane.stack
        ):
            self._repeat(lane, function, known, frame)

    def _repeat(self, lane: Lane, function: Any, known: Compiled, frame: FrameType) -> None:
        streak = self.steps.begin_streak(lane, function, frame)
        if streak is not None:
            streak.elements, streak.limit, streak.tell = known.size, known.limit, known.tell
            streak.traces, streak.traced = self._traces
            self._follow(streak)

    def _create(self, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder, local, close = self.recorder, self.recorder.local, self.recorder.close_span
        traced, traces = self._registry.traced, self._traces

        def _create_concrete_function(
            function_type: Any, type_context: Any, func_graph: Any, tracing_options: Any
        ) -> Any:
            lane = local.lane
            if lane.busy:
                return original(function_type, type_context, func_graph, tracing_options)
            lane.tracing += 1
            recorder.stir()
            if lane.streak is not None:
                lane.streak.stop()  # a call that traces is not like the others, however short
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

    def disarm(self) -> None:
        self._registry.last_words()
        super().disarm()
