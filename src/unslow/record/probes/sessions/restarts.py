"""Sees what a TF1-style program starts again while it trains: sessions of a known graph, and pipelines inside one."""

from __future__ import annotations

from types import FrameType
from typing import Any, NamedTuple

from unslow.facts.schema import Stack
from unslow.record.engine.recorder import Lane, Recorder
from unslow.record.engine.steps import Steps
from unslow.record.engine.weak_table import WeakTable
from unslow.record.probes.sessions.session_graph import SessionGraph

_MOST_FETCHES = 200  # of one session whose first run is told


class _Opened(NamedTuple):
    """A session: the how many-th of its graph it is, who made it, and the fetches that it ran."""

    number: int
    made: Stack
    ran: set[Any]


class Restarts:
    def __init__(self, recorder: Recorder, steps: Steps) -> None:
        self.recorder = recorder
        self.steps = steps
        self._opened: WeakTable[_Opened] = WeakTable()
        self._pipeline: tuple[Any, int] | None = (
            None  # by which line one was started again, and its ns
        )

    def opened(self, session: Any, graph: SessionGraph, frame: FrameType | None) -> None:
        graph.sessions += 1
        self._opened.put(session, _Opened(graph.sessions, self.recorder.stack(frame), set()))

    def ran(
        self,
        lane: Lane,
        session: Any,
        graph: SessionGraph,
        fetches: Any,
        key: Any,
        updates: bool,
        took: int,
        line: FrameType | None,
    ) -> None:
        self._prepared(session, graph, key, took)
        if updates:
            self._updated(took)
        elif self.steps.trains and graph.starts(key, fetches):
            self._pipeline = (self.recorder.stack(line), took)
            if lane.fast_path is not None:
                lane.fast_path.stop()  # the next update must be seen by itself

    def _prepared(self, session: Any, graph: SessionGraph, key: Any, took: int) -> None:
        """A session's first run of some fetches prepares them, even where another session of the graph has run them."""
        number, made, ran = self._opened.get(session) or _Opened(0, (), set())
        if key in ran:
            graph.usual[key] = min(took, graph.usual.get(key, took))
        elif number and len(ran) < _MOST_FETCHES:
            ran.add(key)
            if number > 1 and self.steps.total:
                self.recorder.fact(
                    "reopened",
                    str(made[:1]),
                    took,
                    session=number,
                    usual_ns=graph.usual.get(key, 0),
                    stack=made,
                    step=self.steps.total,
                )

    def _updated(self, took: int) -> None:
        """What the first update takes after a pipeline was started again: it waits for the first element."""
        started, self._pipeline = self._pipeline, None
        if started is not None:
            stack, spent = started
            self.recorder.fact(
                "restarted",
                str(stack[:1]),
                took,
                stack=stack,
                start_ns=spent,
                step=self.steps.total,
            )
