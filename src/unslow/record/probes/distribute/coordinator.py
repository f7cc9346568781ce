"""Sees a coordinator and its workers: closures that run there, values that are waited for here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

from unslow.facts.phase import Phase
from unslow.facts.workers import RemoteFetch, RemoteWork
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.probe import Probe
from unslow.record.engine.recorder import clock

_SYNC = int(Phase.SYNC)
_MOST_WORKERS = 4096


class _Totals:
    """What one worker did so far."""

    __slots__ = ("busy", "count", "longest", "written")

    def __init__(self) -> None:
        self.count = self.busy = self.longest = self.written = 0


class Coordinator(Probe):
    """Names as of TensorFlow 2.15 to 2.21; all are private."""

    name = "coordinator"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._totals: dict[int, _Totals] = {}

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        below = "tensorflow.python.distribute.coordinator"
        return {
            f"{below}.cluster_coordinator": self._on_coordinator,
            f"{below}.values": self._on_values,
        }

    def _on_coordinator(self, module: ModuleType) -> None:
        self.replace(module.ClusterCoordinator, "schedule", self._scheduling)
        self.replace(module.Worker, "_process_closure", self._processing)
        self.recorder.signals.tick.subscribe(self.name, self._write)

    def _on_values(self, module: ModuleType) -> None:
        for method in ("fetch", "get"):
            self.replace(module.RemoteValueImpl, method, self._fetching)

    def _scheduling(self, original: Function) -> Function:
        """A step of the program: a worker makes it, when it is free."""
        local, ended = self.recorder.local, self.steps.ended

        def schedule(self: object, fn: object, *args: object, **kwargs: object) -> object:
            result = original(self, fn, *args, **kwargs)
            lane = local.lane
            if not (lane.tracing or lane.busy):
                name = str(getattr(fn, "__name__", "") or getattr(fn, "_name", ""))
                ended(lane, "schedule", fn, name, sys._getframe().f_back)
            return result

        return schedule

    def _processing(self, original: Function) -> Function:
        totals = self._totals

        def _process_closure(self: object, closure: object) -> object:
            began = clock()
            try:
                return original(self, closure)
            finally:
                index = getattr(self, "worker_index", -1)
                total = totals.get(index)
                if total is None and len(totals) < _MOST_WORKERS:
                    total = totals[index] = _Totals()
                if total is not None:
                    took = clock() - began
                    total.count += 1
                    total.busy += took
                    total.longest = max(total.longest, took)

        return _process_closure

    def _fetching(self, original: Function) -> Function:
        local, open_span = self.recorder.local, self.recorder.open_span
        close, tally = self.recorder.close_span, self.recorder.tally

        def fetch(self: object) -> object:
            lane = local.lane
            if lane.tracing or lane.busy:
                return original(self)
            entry = open_span(lane, _SYNC)
            try:
                return original(self)
            finally:
                tally(RemoteFetch, sys._getframe().f_back, close(lane, entry))

        return fetch

    def _write(self) -> None:
        """On the watcher's thread: the totals that have changed."""
        for index, total in list(self._totals.items()):
            if total.count == total.written:
                continue
            total.written = total.count
            self.recorder.emit(
                RemoteWork(
                    worker=index,
                    count=total.count,
                    busy=total.busy,
                    longest=total.longest,
                )
            )

    def disarm(self) -> None:
        self.recorder.signals.tick.unsubscribe(self._write)
        self._write()
        super().disarm()
