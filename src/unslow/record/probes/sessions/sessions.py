"""Sees TF1-style sessions: each `run`, whether it updates weights, and some steps in detail."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType, ModuleType

from unslow.facts.phase import Phase
from unslow.facts.profiler import FullTrace
from unslow.facts.sessions import RunsAtLine
from unslow.record.engine.fast_path import Departure, FastPath, Wrapped, fast_caller, no_path
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.live_objects import Living
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.engine.weak_table import WeakTable
from unslow.record.probes.sessions.node_times import lasted
from unslow.record.probes.sessions.restarts import Restarts
from unslow.record.probes.sessions.session_graph import SessionGraph, key_of
from unslow.record.probes.sessions.session_run import Ran
from unslow.record.probes.sessions.step_inspection import Window

_RUN = int(Phase.RUN)

Matches = Callable[[int, tuple[Foreign, ...], dict[str, Foreign]], bool]
_FIRST_INSPECTED = 4  # the first steps pay for much that later ones do not
_MOST_RUNS = 200  # in one step: one that has more is not inspected
_MOST_GRAPHS = 50  # scripts that make a graph per trial: old ones must be released


class Sessions(Probe):
    name = "sessions"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._graphs: dict[int, SessionGraph] = {}
        self._window: Window | None = None
        self._full = False  # runs request a full trace of themselves
        self._full_runs = 0
        self._restarts = Restarts(self.recorder, self.steps)
        self._follow: Callable[[FastPath], None] = no_path
        self._fetches: WeakTable[tuple[Foreign, ...]] = WeakTable()  # of what `make_callable` gave
        self._traced: Foreign = (
            None  # makes the options and the metadata of a run that times its nodes
        )
        self.recorder.signals.step.subscribe(self.name, self._inspect)

    def doors(self) -> Doors:
        return {"tensorflow.python.client.session": self._on_session}

    def _on_session(self, module: ModuleType) -> None:
        self.replace(module.BaseSession, "__init__", self._init)
        self.replace(module.BaseSession, "run", self._run)
        # Seen on 2.15 to 2.21: what `make_callable` and Keras 2 without eager execution run.
        # Where it is missing, their steps are not seen.
        if hasattr(module.BaseSession, "_Callable"):
            self.replace(module.BaseSession._Callable, "__init__", self._make_callable)
            self.replace(module.BaseSession._Callable, "__call__", self._call_callable)
        messages = module.config_pb2
        # TensorFlow times the nodes itself then; a run takes about 10% longer.
        # Never more than a step at a time.
        self._traced = lambda: (
            messages.RunOptions(trace_level=messages.RunOptions.SOFTWARE_TRACE),
            messages.RunMetadata(),
        )

    def inherit(self, living: Living) -> None:
        """Sessions that are open: one that is opened later for the same graph is a second one."""
        for session in living.sessions:
            if not getattr(session, "_closed", False):
                self._restarts.met(session, self._graph(session._graph))

    def _init(self, original: Function) -> Function:
        opened = self._opened

        def __init__(self: object, *args: object, **kwargs: object) -> None:
            original(self, *args, **kwargs)
            opened(self, sys._getframe().f_back)

        return __init__

    def _opened(self, session: Foreign, frame: FrameType | None) -> None:
        with self.fence:
            self._restarts.opened(session, self._graph(session._graph), frame)

    def _inspect(self, lane: Lane, total: int) -> None:
        """Inspect one whole step, at steps that grow further apart; a trial is timed as it is."""
        due = total >= _FIRST_INSPECTED and total & (total - 1) == 0
        if not due or self._window is not None or not self._graphs or self.recorder.is_trial:
            return
        self._window = Window(lane.thread)
        if lane.fast_path is not None:
            lane.fast_path.stop()

    def _run(self, original: Function) -> Function:
        wrapped = Wrapped(
            original,
            plain=original,
            raised=_raised_by_caller,
            in_full=self._in_full(original),
            departed=self._departed,
            failed=self._repetition_failed,
            settle=self.steps.settle,
        )
        wrapper, self._follow = fast_caller(wrapped)
        return wrapper

    def _in_full(self, original: Function) -> Function:
        recorder, local, getframe = self.recorder, self.recorder.local, sys._getframe
        probe = self

        def run(
            self: object,
            fetches: object,
            feed_dict: object = None,
            options: Foreign = None,
            run_metadata: Foreign = None,
        ) -> object:
            lane = local.lane
            if lane.tracing or lane.busy:
                return original(self, fetches, feed_dict, options, run_metadata)
            frame = getframe(1).f_back
            if probe._full or options is not None:
                probe._asked(options, frame)
            if probe._is_inspected(lane) and options is None and run_metadata is None:
                options, run_metadata = probe._traced()
            span = recorder.open_span(lane, _RUN)
            ran = Ran(self, fetches, feed_dict)
            try:
                ran.result = original(self, fetches, feed_dict, options, run_metadata)
            finally:
                ran.took = recorder.close_span(lane, span)
            ran.metadata = run_metadata
            probe._ran(lane, ran, frame)
            return ran.result

        return run

    def _is_inspected(self, lane: Lane) -> bool:
        return self._window is not None and self._window.thread == lane.thread

    def _repetition_failed(self) -> None:
        self.steps.leave_fast_path()

    def _departed(self, departure: Departure) -> None:
        """A run that was taken for one more repetition: record it in full, after the fact."""
        lane, took = self.recorder.local.lane, departure.ended - departure.began
        self.steps.leave_fast_path()
        lane.phases[_RUN] += took
        lane.calls += 1
        ran = Ran(departure.owner, *_arguments(*departure.args, **departure.kwargs), took)
        ran.result = departure.result
        self._ran(lane, ran, departure.frame)

    def _asked(self, options: object, frame: FrameType | None) -> None:
        """A run whose options request a full trace, or the first one that no longer does."""
        full = options is not None and getattr(options, "trace_level", 0) > 0
        if full:
            self.recorder.signals.profiler_taken.send()
        if full != self._full and self.recorder.signals.full_trace:
            self._full = full
            self.recorder.signals.full_trace.send(full, frame, 0)

    def _ran_with_trace(self, lane: Lane, ran: Ran) -> None:
        """How long the graph itself ran in a run that was traced in full: the rest is tracing."""
        self._full_runs += 1
        if self._full_runs & (self._full_runs - 1) == 0:
            began = clock()
            self.recorder.emit(FullTrace(took=ran.took, inside=lasted(ran.metadata)), began)
            self.recorder.keep_out(lane, clock() - began, self.name)

    def _make_callable(self, original: Function) -> Function:
        taken, known = self.recorder.signals.profiler_taken, self._fetches

        def __init__(self: object, session: object, callable_options: Foreign) -> None:
            original(self, session, callable_options)
            if callable_options.run_options.trace_level > 0:
                taken.send()
            known.put(self, (*callable_options.fetch, *callable_options.target))

        return __init__

    def _call_callable(self, original: Function) -> Function:
        recorder, local, fetches_of = self.recorder, self.recorder.local, self._fetches.get
        probe = self

        def __call__(self: Foreign, *args: object, **kwargs: object) -> object:
            lane, fetches = local.lane, fetches_of(self)
            if lane.tracing or lane.busy or fetches is None:
                return original(self, *args, **kwargs)
            span = recorder.open_span(lane, _RUN)
            ran = Ran(self._session, fetches)
            try:
                ran.result = original(self, *args, **kwargs)
            finally:
                ran.took = recorder.close_span(lane, span)
            probe._ran(lane, ran, sys._getframe().f_back)
            return ran.result

        return __call__

    def _ran(self, lane: Lane, ran: Ran, frame: FrameType | None) -> None:
        try:
            known = self._graph(ran.session._graph)
            ran.key = key_of(ran.fetches)
            ran.updates = known.updates(ran.key, ran.fetches) and not self._goes_with(ran, known)
            if ran.feed:
                lane.elements = max(lane.elements, _elements(ran.feed))
            line = self._line(frame)
            self.recorder.tally(RunsAtLine, line, ran.took)
            if self._full and ran.metadata is not None:
                self._ran_with_trace(lane, ran)
            self._restarts.ran(lane, ran, known, line)
            if self._window is not None and self._is_inspected(lane):
                ran.stack = self.recorder.stack(line)
                self._add(lane, self._window, ran)
            if ran.updates:
                self._updated(lane, ran, known, frame)
            elif not self.steps.trains:
                self.steps.repeated(lane, "session", None, "run", line)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _goes_with(self, ran: Ran, known: SessionGraph) -> bool:
        """Whether a run that writes weights belongs to an update before it: masks, clipping."""
        if known.trained and known.only_projects(ran.key, ran.fetches):
            return True
        known.trained = known.trained or not known.only_projects(ran.key, ran.fetches)
        return False

    def _add(self, lane: Lane, window: Window, ran: Ran) -> None:
        """Add a run to the step that is inspected; a complete step is written."""
        if window.add(ran):
            self._window = None
            began = clock()
            window.write(self.recorder, self.steps.total + 1, self._operations)
            self.recorder.keep_out(lane, clock() - began, self.name)
        elif len(window.runs) >= _MOST_RUNS:
            self._window = None

    def _operations(self, graph: object, fetches: object) -> list[Foreign]:
        return self._graph(graph).operations(fetches)

    def _updated(self, lane: Lane, ran: Ran, known: SessionGraph, frame: FrameType | None) -> None:
        if not known.looked_at:
            known.looked_at = True
            self.recorder.signals.session_graph.send(lane, known.graph)
        if self.recorder.is_trial:
            self.recorder.kept_weights[id(ran.session)] = ran.session
        self.steps.ended(lane, "session", None, "run", frame)
        watched = lane.stack or self._window or self._full
        if frame is not None and lane.fast_path is None and not watched:
            self._repeat(lane, ran, known, frame)

    def _repeat(self, lane: Lane, ran: Ran, known: SessionGraph, frame: FrameType) -> None:
        """The next runs may be like this one, unless the graph grows or the fetches are nested."""
        fetches = ran.fetches
        leaves = fetches if isinstance(fetches, list) else [fetches]
        before = known.nodes, known.size
        known.nodes, known.size = known.count(), _elements(ran.feed) if ran.feed else 0.0
        nested = any(isinstance(leaf, list | tuple | dict) for leaf in leaves)
        if nested or before != (known.nodes, known.size):
            return
        path = self.steps.enter_fast_path(lane, ran.session, frame)
        if path is None:
            return
        path.elements, path.matches = known.size, _matcher(known, fetches)
        path.counted = self.recorder.tallier(RunsAtLine, self._line(frame) or frame)
        if sum(1 for other in self.recorder.lanes if other.steps) == 1:  # no other thread trains
            repeats = self.recorder.signals.session_repeats
            repeats.send(True)
            path.after = functools.partial(repeats.send, False)
        self._follow(path)

    def _line(self, frame: FrameType | None) -> FrameType | None:
        """The user's frame that made a run; None if there is no Python caller."""
        return next((found for _, found in self.recorder.user.frames(frame, 1)), frame)

    def _graph(self, graph: object) -> SessionGraph:
        known = self._graphs.get(id(graph))
        if known is None or known.graph is not graph:
            if len(self._graphs) > _MOST_GRAPHS:
                self._graphs.clear()
            known = self._graphs[id(graph)] = SessionGraph(graph)
        return known


def _elements(feed: Foreign) -> float:
    """Numbers in the largest array that is fed."""
    most = 0
    for value in feed.values() if hasattr(feed, "values") else ():
        size = getattr(value, "size", 0)
        if size.__class__ is int and size > most:
            most = size
    return float(most)


def _arguments(
    fetches: object, feed_dict: object = None, options: object = None, run_metadata: object = None
) -> tuple[Foreign, Foreign]:
    """The fetches and the feed among the arguments of `Session.run`."""
    return fetches, feed_dict


def _matcher(known: SessionGraph, fetches: Foreign) -> Matches:
    """Whether the arguments of the next runs are those of this one.

    Whether the graph has grown or the batch has another size is checked in one run of eight,
    because that is expensive.
    """
    single = None if isinstance(fetches, list) else fetches
    leaves = list(fetches) if isinstance(fetches, list) else []
    nodes, size, count = known.nodes, known.size, known.count

    def is_same_list(fetches: Foreign) -> bool:
        return fetches.__class__ is list and list(map(id, fetches)) == list(map(id, leaves))

    def is_unchanged(args: tuple[Foreign, ...], kwargs: dict[str, Foreign]) -> bool:
        try:
            _, feed = _arguments(*args, **kwargs)
            return count() == nodes and (_elements(feed) if feed else 0.0) == size
        except Exception:  # noqa: BLE001 - the fence of a probe: what is fed is the program's own
            return False

    def matches(left: int, args: tuple[Foreign, ...], kwargs: dict[str, Foreign]) -> bool:
        if len(args) > 2 or "options" in kwargs:  # options, or not even a valid call
            return False
        fetches = args[0] if args else kwargs.get("fetches")
        if fetches is not single and not is_same_list(fetches):
            return False
        return left & 7 != 1 or is_unchanged(args, kwargs)

    return matches


def _raised_by_caller(error: BaseException) -> None:
    """`Session.run` has no traceback filter around it."""
