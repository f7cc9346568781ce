"""Takes stock of the user's arrays and tensors when the process reaches a new size.

The watcher sees the growth, but only a thread itself may read its own frames: the inspection is
handed to the main thread, which runs it between two instructions, like a signal handler.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from types import FrameType, ModuleType

from unslow.facts.memory import Inventory, MemoryHigh
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.pending_calls import PendingCall, pending_call
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.engine.thread_stacks import Line, lines_of
from unslow.record.probes.memory.array_walk import ArrayWalk, given_to_keras
from unslow.record.probes.memory.arrays import LEAST_HELD
from unslow.record.probes.memory.captured_arrays import captured_by_functions
from unslow.record.probes.memory.intermediate_results import eager_model_call, unnamed_tensors
from unslow.record.probes.memory.named_values import NamedValues

_MOST_INVENTORIES = 24
_GROWN = 1.25  # times the size at the last inventory
_LEAST_GROWN = 96 << 20  # bytes above the size at the start: less is TensorFlow warming up
_HIGHER = 1.05  # times the last high that was written
_LONGEST = 20_000_000  # nanoseconds of one inventory, of work: on a busy machine it waits longer
_MOST_REPORTED = 40
_MOST_FOLLOWED = 8  # inventories that follow others
_SOON, _LATE = 250_000_000, 4_000_000_000  # nanoseconds from one to the next, twice as many each
_FRAMES = 6
_OP_FRAMES = 8  # from the running code up to the function of an op: three at most, and ours
_GENERATED = "gen_"  # files that TensorFlow generates its ops' functions into, 2.15 to 2.21


class Stock(Probe):
    name = "inventory"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._names = NamedValues(self.recorder)
        self._start = 0  # bytes when TensorFlow had been imported
        self._high = 0.0
        self._inspected = 0  # bytes at the last inventory
        self._taken = 0
        self._trained = False  # an inventory was taken in a training step
        self._due = False
        self._again = 0  # when to see what became of tensors without a name
        self._distance = _SOON
        self._followed = 0
        self._waits = False  # an inventory was handed to the main thread, which is in a long op
        self._ends = False
        self._pending: PendingCall | None = None
        self.recorder.signals.wake.subscribe(self.name, self._woke)
        self.recorder.signals.step.subscribe(self.name, self._stepped)

    def doors(self) -> Doors:
        return {"tensorflow": self._on_tensorflow}

    def _on_tensorflow(self, module: ModuleType) -> None:
        self._pending = pending_call(self.on_main_thread)
        self._start = self._inspected = self.watcher.resident()
        self._high = float(self._start)

    def _woke(self) -> None:
        """On the watcher's thread."""
        if not self._start or self.recorder.is_trial:
            return
        size = self.watcher.resident()
        self._note_high(size)
        if self._waits:
            return
        if self._due and self._pending is not None:
            # A wake later: what a call returned has its name by now.
            self._due = False
            self._waits = self._pending.schedule() == 0  # the queue of such calls may be full
        elif size > max(_GROWN * self._inspected, self._start + _LEAST_GROWN):
            self._due = True
            self._inspected = size
            self._distance = _SOON
        elif self._again and clock() >= self._again:
            self._again, self._due = 0, True

    def _note_high(self, size: int) -> None:
        high = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
        if high < _HIGHER * self._high:
            return
        self._high = high
        thread = self.watcher.training_thread()
        phase, lines = self.watcher.phase_of(thread), lines_of(thread)
        self.recorder.emit(
            MemoryHigh(
                bytes=high,
                rss=float(size),
                step=self.steps.total,
                stack=self.recorder.kept(self.recorder.user.places(lines, _FRAMES)),
                leaf=self.watcher.leaf_of(lines),
                phase=phase,
                op=_op_under_way(lines),
            )
        )

    def on_main_thread(self) -> None:
        self._waits = False
        lane = self.recorder.local.lane
        if not self._ends and not lane.busy:
            self._inspect(lane, sys._getframe(2))

    def _stepped(self, lane: Lane, total: int) -> None:
        """The first step: all that the training needs is there."""
        if self._trained or not self._start or self.recorder.is_trial:
            return
        self._trained = True
        if self.watcher.resident() > self._start + _LEAST_GROWN:
            self._inspect(lane, sys._getframe(1))

    def _inspect(self, lane: Lane, frame: FrameType | None) -> None:
        if self._taken >= _MOST_INVENTORIES:
            return
        self._taken += 1
        began = clock()
        busy, lane.busy = lane.busy, True
        try:
            self._take(frame, time.thread_time_ns() + _LONGEST)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")
            self._ends = True
        finally:
            lane.busy = busy
            self.recorder.keep_out(lane, clock() - began, self.name)

    def _take(self, frame: FrameType | None, until: int) -> None:
        call, caller = eager_model_call(frame, self.recorder.user)
        walk = ArrayWalk(self._names.is_users, given_to_keras(frame), until)
        # What the functions of a model hold while it is called are its own intermediate results.
        for scope, name, value in self._names.of(caller or frame):
            walk.visit(scope, name, value, 0)
            if walk.is_over():
                break
        unnamed = unnamed_tensors(walk.has_seen)
        self._follow(unnamed.bytes if unnamed is not None else 0.0)
        held = [found for found in walk.held() if found.bytes >= LEAST_HELD]
        held.sort(key=lambda found: -found.bytes)
        self.recorder.emit(
            Inventory(
                step=self.steps.total,
                rss=float(self.watcher.resident()),
                stack=self.recorder.stack(frame),
                held=tuple(held[:_MOST_REPORTED]),
                captured=tuple(captured_by_functions(self.recorder.user.owns)),
                call=call,
                unnamed=unnamed,
                complete=not walk.is_over(),
            )
        )

    def _follow(self, unnamed: float) -> None:
        """Inspect again in a while where tensors have no name: they get one then, or are gone."""
        if unnamed >= _LEAST_GROWN and self._distance <= _LATE and self._followed < _MOST_FOLLOWED:
            self._again = clock() + self._distance
            self._distance *= 2
            self._followed += 1

    def disarm(self) -> None:
        self._ends = True
        if self._pending is not None:
            self._pending.end()
        super().disarm()


def _op_under_way(lines: list[Line]) -> str:
    """The eager op below the user's innermost line, by the name of its generated function."""
    for code, _ in lines[:_OP_FRAMES]:
        if os.path.basename(code.co_filename).startswith(_GENERATED):
            return code.co_name.removesuffix("_eager_fallback")
    return ""
