"""Times eager ops while no step is under way: data preparation, inference, metrics, simulations."""

from __future__ import annotations

import os
from types import ModuleType

from unslow.facts.phase import Phase
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import clock
from unslow.record.engine.thread_stacks import Line
from unslow.record.probes.eager.op_timing import OpWindow, Past

_OTHER = int(Phase.OTHER)
_QUIET = 1_000_000_000  # nanoseconds without a step: a loop that trains is seen by its own windows
_WINDOW = 250_000_000  # how long a window stays open: hundreds of ops of 50 µs and more
_FIRST = (
    10  # samples (0.2 s) in TensorFlow's Python before the first window; twice as many each time
)
_LIBRARIES = tuple(f"{os.sep}{name}{os.sep}" for name in ("tensorflow", "keras", "tf_keras"))


class OutsideSteps(Probe):
    name = "eager_outside"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._ops: ModuleType | None = None
        self._window: OpWindow | None = None
        self._opened = 0
        self._seen = 0  # samples outside of steps that found TensorFlow called op by op
        self._due = _FIRST
        self._steps = (0, clock())  # how many there were, and when that was first seen
        self._past: Past = {}
        self.recorder.signals.sample.subscribe(self.name, self._sampled)
        self.recorder.signals.wake.subscribe(self.name, self._close_in_time)

    def doors(self) -> Doors:
        return {"tensorflow.python.pywrap_tfe": self._on_ops}

    def _on_ops(self, module: ModuleType) -> None:
        self._ops = module

    def _sampled(self, lines: list[Line], number: int, phase: int) -> None:
        """On the watcher's thread: open a window when TensorFlow was often seen at work here."""
        now = clock()
        if self.steps.total != self._steps[0]:
            self._steps = self.steps.total, now
        outside = now - self._steps[1] >= _QUIET or not self.steps.trains
        file = lines[0][0].co_filename
        if not outside or phase != _OTHER or not any(part in file for part in _LIBRARIES):
            return
        self._seen += 1
        if self._seen >= self._due and self._window is None and self._ops is not None:
            self._due *= 2
            self._open(now)

    def _open(self, now: int) -> None:
        thread = self.watcher.training_thread()
        lane = next((lane for lane in self.recorder.lanes if lane.thread == thread), None)
        if lane is not None and self._ops is not None:
            self._window, self._opened = OpWindow(self.recorder, self._ops, self._past, lane), now
        if self.is_over:  # disarmed on another thread meanwhile
            self._close()

    def _close_in_time(self) -> None:
        if self._window is not None and clock() - self._opened >= _WINDOW:
            self._close()

    def _close(self) -> None:
        window, self._window = self._window, None
        if window is not None:
            window.close(self.steps.total, outside=True)

    def disarm(self) -> None:
        self.is_over = True
        self._close()
        super().disarm()
