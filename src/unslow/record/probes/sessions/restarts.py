"""Sees what a TF1-style program restarts while it trains: sessions of a known graph, pipelines."""

from __future__ import annotations

from types import FrameType
from typing import NamedTuple

from unslow.facts.schema import Stack
from unslow.facts.sessions import Reopened, Restarted
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.recorder import Lane, Recorder
from unslow.record.engine.steps import Steps
from unslow.record.engine.weak_table import WeakTable
from unslow.record.probes.sessions.session_graph import SessionGraph
from unslow.record.probes.sessions.session_run import Ran

_MOST_FETCHES = 200  # of one session whose first run is recorded


class _Opened(NamedTuple):
    """An open session."""

    number: int  # the how many-th of its graph
    made: Stack
    fetched: set[Foreign]  # keys of the fetches that it ran


class Restarts:
    def __init__(self, recorder: Recorder, steps: Steps) -> None:
        self.recorder = recorder
        self.steps = steps
        self._opened: WeakTable[_Opened] = WeakTable()
        # The line that started a pipeline again, and the nanoseconds that took.
        self._pipeline: tuple[Stack, int] | None = None

    def opened(self, session: object, graph: SessionGraph, frame: FrameType | None) -> None:
        graph.sessions += 1
        self._opened.put(session, _Opened(graph.sessions, self.recorder.stack(frame), set()))

    def met(self, session: object, graph: SessionGraph) -> None:
        """A session that was opened before the recording began, and has run what it runs."""
        graph.sessions += 1
        self._opened.put(session, _Opened(1, (), set()))

    def ran(self, lane: Lane, ran: Ran, graph: SessionGraph, line: FrameType | None) -> None:
        self._prepared(ran, graph)
        if ran.updates:
            self._updated(ran.took)
        elif self.steps.trains and graph.starts(ran.key, ran.fetches):
            self._pipeline = (self.recorder.stack(line), ran.took)
            if lane.fast_path is not None:
                lane.fast_path.stop()  # the next update must be seen by itself

    def _prepared(self, ran: Ran, graph: SessionGraph) -> None:
        """A session's first run of some fetches prepares them, whatever other sessions have run."""
        session = self._opened.get(ran.session)
        if session is None:
            return
        key, took = ran.key, ran.took
        if key in session.fetched:
            graph.usual[key] = min(took, graph.usual.get(key, took))
            return
        if len(session.fetched) >= _MOST_FETCHES:
            return
        session.fetched.add(key)
        if session.number > 1 and self.steps.total:
            self.recorder.emit(
                Reopened(
                    key=str(session.made[:1]),
                    took=took,
                    session=session.number,
                    usual=graph.usual.get(key, 0),
                    stack=session.made,
                    step=self.steps.total,
                )
            )

    def _updated(self, took: int) -> None:
        """The first update after a pipeline was started again waits for its first element."""
        started, self._pipeline = self._pipeline, None
        if started is None:
            return
        stack, spent = started
        self.recorder.emit(
            Restarted(
                key=str(stack[:1]), took=took, start=spent, stack=stack, step=self.steps.total
            )
        )
