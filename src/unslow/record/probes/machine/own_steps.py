"""Reads the training's own step counter when a recording that began late begins, and when it
ends."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import NamedTuple

from unslow.facts.process import OwnStep
from unslow.record.engine.fence import attempted
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.live_objects import Living
from unslow.record.engine.probe import Doors, Probe

_MOST_COUNTERS = 4  # a program with more of them trains several models: none is *the* step


class _Counter(NamedTuple):
    name: str
    read: Callable[[], int | None]


class OwnSteps(Probe):
    name = "own_steps"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._counters: list[_Counter] = []
        self._session_run: Foreign = None

    def doors(self) -> Doors:
        return {"tensorflow.python.client.session": self._on_session}

    def _on_session(self, module: ModuleType) -> None:
        self._session_run = module.BaseSession.run

    def inherit(self, living: Living) -> None:
        counters = [*_of_optimizers(living.optimizers), *self._of_sessions(living.sessions)]
        self._counters = counters if len(counters) <= _MOST_COUNTERS else []
        self._write()

    def _of_sessions(self, sessions: list[Foreign]) -> Iterator[_Counter]:
        """The `global_step` of a graph of TensorFlow 1; fetching it adds nothing to the graph."""
        for session in sessions:
            held = weakref.ref(session)
            found = session._graph.get_collection("global_step")
            if len(found) == 1 and not getattr(session, "_closed", False):
                yield _Counter("global_step", partial(self._fetch, held, found[0]))

    def _fetch(self, held: weakref.ref[Foreign], step: object) -> int | None:
        session = held()
        return None if session is None else int(self._session_run(session, step))

    def _write(self) -> None:
        lane = self.recorder.local.lane
        busy, lane.busy = lane.busy, True  # what is called here is not the program's
        for number, counter in enumerate(self._counters):
            value = attempted(None, counter.read)
            if value is not None:
                total = self.steps.total
                self.recorder.emit(
                    OwnStep(counter=counter.name, id=number, number=value, step=total)
                )
        lane.busy = busy

    def disarm(self) -> None:
        self._write()
        self._counters.clear()
        super().disarm()


def _of_optimizers(optimizers: list[Foreign]) -> Iterator[_Counter]:
    for optimizer in optimizers:
        if hasattr(type(optimizer), "iterations"):
            held = weakref.ref(optimizer)
            yield _Counter(f"{type(optimizer).__name__}.iterations", partial(_iterations, held))


def _iterations(held: weakref.ref[Foreign]) -> int | None:
    optimizer = held()
    return None if optimizer is None else int(optimizer.iterations.numpy())
