"""Counts the tensors that Python keeps alive, when the process has clearly grown."""

from __future__ import annotations

import sys
import time
from types import ModuleType

from unslow.facts.memory import Live
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.engine.safe_inspection import instances_of
from unslow.record.probes.memory.arrays import tensor_bytes

cpu = time.thread_time_ns

_FIRST = 8  # steps that warm up; a run of long steps may have fifty in all
_EVERY = 32  # steps between readings of the process's size, at most
_EARLY = 4  # a reading comes a quarter of the steps so far after the last, until then
_GROWN = 48 << 20  # bytes of growth that are worth a count of all objects, about 90 ms
_FURTHER = 1.3  # times the steps of the last count, at least, before the next
_REST = 40  # times what a count took, before the next
# Work of all counts together: a part of the time since the first steps, and nanoseconds more so
# that a short run gets its first two. One takes 50 ns per block of Python's allocator: 60 ms after
# the import of TensorFlow, and more with each graph that the program keeps.
_MOST_OF_TIME, _AT_ONCE = 0.01, 200_000_000
_EACH_BLOCK = 50


class LiveTensors(Probe):
    name = "live"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._kind: Foreign = None
        self._base = 0
        self._next = _FIRST
        self._due = 0
        self._rested = 0
        self._began = 0  # when the first steps were over
        self._worked = 0  # nanoseconds of processor time of all counts …
        self._last = 0  # … and of the last
        self.recorder.signals.step.subscribe(self.name, self._stepped)

    def doors(self) -> Doors:
        return {"tensorflow": self._on_tensorflow}

    def _on_tensorflow(self, module: ModuleType) -> None:
        ops: Foreign = sys.modules.get("tensorflow.python.framework.ops")
        # Made when TensorFlow starts, 2.15–2.21; without it the probe is lost and reported.
        self._kind = ops.EagerTensor

    def _stepped(self, lane: Lane, total: int) -> None:
        if total < self._next or self._kind is None:
            return
        self._next = total + min(_EVERY, total // _EARLY)
        try:
            size = self.watcher.rss
            if not self._base:
                self._base, self._began = size, clock()
            elif size - self._base > _GROWN and total >= self._due and self._is_affordable():
                self._due = int(total * _FURTHER)
                self._count(lane, total, size)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")
            self._kind = None

    def _is_affordable(self) -> bool:
        now = clock()
        if now < self._rested:
            return False
        expected = self._last or sys.getallocatedblocks() * _EACH_BLOCK
        return self._worked + expected <= _AT_ONCE + (now - self._began) * _MOST_OF_TIME

    def _count(self, lane: Lane, total: int, size: int) -> None:
        began, worked = clock(), cpu()
        kind = self._kind
        lane.busy = True
        try:
            found = instances_of([kind])
            held = sum(map(tensor_bytes, found), 0.0)
            number = len(found)
            del found
        finally:
            lane.busy = False
        self.recorder.emit(Live(step=total, tensors=number, bytes=held, rss=float(size)))
        spent, self._last = clock() - began, cpu() - worked
        self._worked += self._last
        # By work, not by time: on a busy machine there would be too few.
        self._rested = began + self._last * _REST
        self.recorder.keep_out(lane, spent, self.name)

    def disarm(self) -> None:
        super().disarm()
        self.recorder.signals.step.unsubscribe(self._stepped)
