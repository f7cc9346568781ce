"""Sees TF1-style sessions: each `run`, whether it updates weights, and now and then a whole step in detail."""

from __future__ import annotations

import _thread
import functools
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any, cast

from unslow.facts.phase import Phase
from unslow.facts.profiler import FullTrace
from unslow.record.engine.fast_path import Streak, nobody
from unslow.record.engine.probe import Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.probes.sessions.node_times import lasted
from unslow.record.probes.sessions.restarts import Restarts
from unslow.record.probes.sessions.session_graph import SessionGraph, key_of
from unslow.record.probes.sessions.step_inspection import Ran, Window

_RUN = int(Phase.RUN)
_FIRST_LOOK = 4  # steps: the first ones pay for much that later ones do not
_MOST_RUNS = 200  # in one step: one that has more is not looked at


class Sessions(Probe):
    name = "sessions"

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._graphs: dict[int, SessionGraph] = {}
        self._window: Window | None = None
        self._full = False  # runs are asked for a full trace of themselves
        self._weighed = 0  # such runs
        self._restarts = Restarts(self.recorder, self.steps)
        self._follow: Callable[[Streak], None] = (
            nobody  # makes the wrapper of runs only note the next ones
        )
        self._traced: Any = None  # makes the options and the metadata of a run that times its nodes
        self.steps.listeners.append(self._look)

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        return {"tensorflow.python.client.session": self._on_session}

    def _on_session(self, module: ModuleType) -> None:
        self.replace(module.BaseSession, "__init__", self._init)
        self.replace(module.BaseSession, "run", self._run)
        # Seen on 2.15 to 2.21: what `make_callable` and Keras 2 without eager execution run. Where it is missing,
        # their steps are not seen.
        if hasattr(module.BaseSession, "_Callable"):
            self.replace(module.BaseSession._Callable, "__init__", self._make_callable)
            self.replace(module.BaseSession._Callable, "__call__", self._call_callable)
        messages = module.config_pb2
        # TensorFlow times the nodes itself then; a run takes about a tenth longer. Never more than a step at a time.
        self._traced = lambda: (
            messages.RunOptions(trace_level=messages.RunOptions.SOFTWARE_TRACE),
            messages.RunMetadata(),
        )

    def _init(self, original: Callable[..., Any]) -> Callable[..., Any]:
        opened = self._opened

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            opened(self, sys._getframe().f_back)

        return __init__

    def _opened(self, session: Any, frame: FrameType | None) -> None:
        try:
            self._restarts.opened(session, self._graph(session._graph), frame)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _look(self, lane: Lane, total: int) -> None:
        """Look at one whole step, at steps that grow further apart."""
        if (
            total < _FIRST_LOOK
            or total & (total - 1)
            or self._window is not None
            or not self._graphs
        ):
            return
        if self.recorder.kept_weights is None:  # a trial is timed as it is
            self._window = Window(lane.thread)
            if lane.streak is not None:
                lane.streak.stop()

    def _run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local, close = self.recorder.local, self.recorder.close_span
        settle, end_streak, unchanged = self.steps.settle, self.steps.end_streak, self._unchanged
        getframe, ident = sys._getframe, _thread.get_ident
        probe = self
        # Of the streak that is under way.
        owner = thread = left = calls = last = middle = above_last = far = far_last = 0
        streak = lane = note = fetched = stack = code = above = cast(Any, None)

        def stop() -> None:
            nonlocal owner, note
            owner = 0
            note = None

        def follow(begun: Streak) -> None:
            nonlocal streak, lane, owner, thread, stack, note, left, calls, fetched
            nonlocal code, last, middle, above, above_last, far, far_last
            begun.stop = stop
            code, last, middle, above, above_last, far, far_last = begun.place
            streak, lane, note, fetched = begun, begun.lane, begun.note, begun.fetches
            thread, stack = lane.thread, lane.stack
            left, calls, owner = begun.left, begun.calls, begun.owner

        self._follow = follow

        def run(
            self: Any,
            fetches: Any,
            feed_dict: Any = None,
            options: Any = None,
            run_metadata: Any = None,
        ) -> Any:
            nonlocal left, calls
            noted = note  # first, since another thread may end the streak at any time: first its owner goes, then this
            if (
                owner == id(self)
                and options is None
                and (tuple(map(id, fetches)) if fetches.__class__ is list else id(fetches))
                == fetched
                and thread == ident()
                and not stack
                and (left & 7 != 1 or unchanged(streak, feed_dict))
            ):
                began = clock()
                noted(began)
                try:
                    result = original(self, fetches, feed_dict, None, run_metadata)
                except BaseException:
                    end_streak()
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
                        and note is noted
                    )
                except ValueError:  # the stack is not as deep
                    alike = False
                if not alike:
                    end_streak()
                    lane.phases[_RUN] += now - began
                    lane.calls += 1
                    probe._ran(lane, self, fetches, feed_dict, now - began, result, None)
                    return result
                if lane.calls != calls:
                    lane.elements = max(lane.elements, streak.elements)
                    streak.gather()
                    calls = streak.calls
                noted(now)
                left -= 1
                if not left:
                    settle(streak)
                    left, calls = streak.left, streak.calls
                return result
            mine = local.lane
            if mine.tracing or mine.busy:
                return original(self, fetches, feed_dict, options, run_metadata)
            window = probe._window
            if probe._full or options is not None:
                probe._asked(options, getframe().f_back)
            if (
                window is not None
                and window.thread == mine.thread
                and options is None
                and run_metadata is None
            ):
                options, run_metadata = probe._traced()
            entry = [_RUN, clock(), 0]
            mine.stack.append(entry)
            try:
                result = original(self, fetches, feed_dict, options, run_metadata)
            finally:
                took = close(mine, entry)
            probe._ran(mine, self, fetches, feed_dict, took, result, run_metadata)
            return result

        return run

    @staticmethod
    def _unchanged(streak: Streak, feed: Any) -> bool:
        """Whether neither the graph has grown nor the batch another size: asked at one run in eight, since it costs."""
        try:
            return (
                streak.count() == streak.nodes
                and (_elements(feed) if feed else 0.0) == streak.elements
            )
        except Exception:  # noqa: BLE001 - the fence of a probe: what is fed is the program's own
            return False

    def _asked(self, options: Any, frame: FrameType | None) -> None:
        """A run that is asked for a full trace of itself, by its options, or the first one that no longer is."""
        full = options is not None and getattr(options, "trace_level", 0) > 0
        if full:
            self.recorder.give_way()
        if full != self._full and self.recorder.full_trace is not None:
            self._full = full
            self.recorder.full_trace(full, frame, 0)

    def _weigh(self, lane: Lane, metadata: Any, took: int) -> None:
        """How long the graph itself ran in a run that was traced in full, now and then: the rest is the tracing."""
        self._weighed += 1
        if self._weighed & (self._weighed - 1) == 0:
            began = clock()
            self.recorder.emit(FullTrace(took=took, inside=lasted(metadata)))
            self.recorder.keep_out(lane, clock() - began, self.name)

    def _make_callable(self, original: Callable[..., Any]) -> Callable[..., Any]:
        give_way = self.recorder.give_way

        def __init__(self: Any, session: Any, callable_options: Any) -> None:
            original(self, session, callable_options)
            if callable_options.run_options.trace_level > 0:
                give_way()
            self._unslow_fetches = (*callable_options.fetch, *callable_options.target)

        return __init__

    def _call_callable(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local, close = self.recorder.local, self.recorder.close_span
        probe = self

        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
            lane = local.lane
            if lane.tracing or lane.busy or not hasattr(self, "_unslow_fetches"):
                return original(self, *args, **kwargs)
            entry = [_RUN, clock(), 0]
            lane.stack.append(entry)
            try:
                result = original(self, *args, **kwargs)
            finally:
                took = close(lane, entry)
            probe._ran(lane, self._session, self._unslow_fetches, None, took, result, None)
            return result

        return __call__

    def _ran(
        self,
        lane: Lane,
        session: Any,
        fetches: Any,
        feed: Any,
        took: int,
        result: Any,
        metadata: Any,
    ) -> None:
        try:
            graph = session._graph
            known = self._graphs.get(id(graph))
            if known is None or known.graph is not graph:
                known = self._graph(graph)
            key = key_of(fetches)
            updates = known.updates(key, fetches)
            if feed:
                size = _elements(feed)
                if size > lane.elements:
                    lane.elements = size
            frame = sys._getframe(1).f_back
            held = self._line(frame)
            self.recorder.tally("runs", held, took)
            if self._full and metadata is not None:
                self._weigh(lane, metadata, took)
            self._restarts.ran(lane, session, known, fetches, key, updates, took, held)
            if self._window is not None and self._window.thread == lane.thread:
                ran = Ran(
                    session,
                    fetches,
                    feed,
                    result,
                    took,
                    updates,
                    self.recorder.stack(held),
                    metadata,
                )
                self._look_at(lane, self._window, ran)
            if updates:
                if not known.looked_at:
                    known.looked_at = True
                    self.recorder.session_graph(lane, graph)
                if self.recorder.kept_weights is not None:
                    self.recorder.kept_weights[id(session)] = session
                self.steps.ended(lane, "session", None, "run", frame)
                if (
                    frame is not None
                    and lane.streak is None
                    and not (lane.stack or self._window or self._full)
                ):
                    self._repeat(lane, session, fetches, feed, known, frame)
            elif not self.steps.trains[0]:
                self.steps.repeated(lane, "session", None, "run", held)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _look_at(self, lane: Lane, window: Window, ran: Ran) -> None:
        if window.add(ran):
            self._window = None
            self._write(lane, window)
        elif len(window.runs) >= _MOST_RUNS:
            self._window = None

    def _repeat(
        self,
        lane: Lane,
        session: Any,
        fetches: Any,
        feed: Any,
        known: SessionGraph,
        frame: FrameType,
    ) -> None:
        """The next runs may be like this one, unless the graph grows or the fetches cannot be told by their parts."""
        leaves = fetches if isinstance(fetches, list) else [fetches]
        before = known.nodes, known.size
        known.nodes, known.size = known.count(), _elements(feed) if feed else 0.0
        if before != (known.nodes, known.size) or any(
            isinstance(leaf, list | tuple | dict) for leaf in leaves
        ):
            return
        streak = self.steps.begin_streak(lane, session, frame)
        if streak is not None:
            streak.held = list(leaves)
            streak.fetches = tuple(map(id, fetches)) if isinstance(fetches, list) else id(fetches)
            streak.count, streak.nodes, streak.elements = known.count, known.nodes, known.size
            held = self._line(frame) or frame
            streak.tell = functools.partial(
                self.recorder.tallied, "runs", held.f_code, held.f_lasti
            )
            if (
                sum(1 for other in self.recorder.lanes if other.steps) == 1
            ):  # no other thread trains
                self.recorder.watch_runs(False)
                streak.ended = functools.partial(self.recorder.watch_runs, True)
            self._follow(streak)

    def _line(self, frame: FrameType | None) -> FrameType | None:
        """The user's frame from which a run was asked for; None where it was asked for by no Python at all."""
        return next((found for _, found in self.recorder.user.frames(frame, 1)), frame)

    def _write(self, lane: Lane, window: Window) -> None:
        began = clock()
        window.write(
            self.recorder,
            self.steps.total + 1,
            lambda graph, fetches: self._graph(graph).operations(fetches),
        )
        self.recorder.keep_out(lane, clock() - began, self.name)

    def _graph(self, graph: Any) -> SessionGraph:
        known = self._graphs.get(id(graph))
        if known is None or known.graph is not graph:
            if (
                len(self._graphs) > 50
            ):  # scripts that make a graph per trial: old ones must be let go
                self._graphs.clear()
            known = self._graphs[id(graph)] = SessionGraph(graph)
        return known


def _elements(feed: Any) -> float:
    """Numbers in the largest array that is fed."""
    most = 0
    for value in feed.values() if hasattr(feed, "values") else ():
        size = getattr(value, "size", 0)
        if size.__class__ is int and size > most:
            most = size
    return float(most)
