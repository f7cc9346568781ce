"""Opens short windows of TensorFlow's profiler on the training; our process reads the profiles."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from types import ModuleType

from unslow.facts.profiler import ProfilerWindow
from unslow.facts.workers import SharedWindow
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.probes.profiler.window import (
    FEW_EVENTS,
    USUAL_LEVEL,
    Window,
    close_window,
    export_window,
    open_window,
    stop_window,
)

_SECOND = 1_000_000_000
# Steps and time after which a training has warmed up: many short steps, or a few long ones.
_WARMED_UP = ((40, int(0.6 * _SECOND)), (5, int(1.2 * _SECOND)))
_TIMES_ITS_LENGTH = 20  # a training must be so much older than a long window: 10% with its writing
_INTERVAL = 60 * _SECOND  # from the first window to the second, which is the last
_MOST_WINDOWS = 2
_MOST_STEPS = 10
_SPAN = _SECOND // 4  # fewer steps where they are long: about 50,000 events
_TOO_LONG = 5 * _SECOND  # a window is closed then, whatever the step
_MOST_BYTES = 24 << 20
_MOST_EVENTS = 15 * FEW_EVENTS  # a window that may hold more is not read: over 24 MB in most cases
_V2 = "tensorflow.python.profiler.profiler_v2"

# Workers of a job open no windows unless they are asked to: closing one ended a worker by SIGSEGV
# or SIGABRT about once in 100 to 400 windows, whether the profile was exported or taken as it is
# (TensorFlow 2.21, jobs of two on loopback). Where they are requested, they open in the same steps
# of all workers, chosen by their numbers since clocks differ: 24, 96, 384 …
_ASKED_FOR = "UNSLOW_JOB_WINDOWS"
_FIRST_SHARED_STEP, _TIMES_FURTHER = 24, 4
_MOST_SHARED_WINDOWS = 6
_SHARED_WINDOW = 8  # steps; fewer where they are long
_SHARED_SPAN = _SECOND
_EXPENSIVE_OPS = 1  # tracer level, which collectives are of


class StepWindows(Probe):
    name = "window"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._session: Window | None = None
        self._closing = threading.Lock()
        self._opened = (0, 0)  # step and clock
        self._number = 0
        self._began = 0
        self._due = 0
        self._next_check = 1  # step
        self._wanted = 1
        self._thread = 0
        self._next_shared = _FIRST_SHARED_STEP
        self._shared = False  # the steps are those of a job
        self.recorder.signals.step.subscribe(self.name, self._stepped)
        self.recorder.signals.shared_step.subscribe(self.name, self._shared_step)
        self.recorder.signals.profiler_taken.subscribe(self.name, self._give_way)

    def doors(self) -> Doors:
        return {_V2: self._on_profiler}

    def _on_profiler(self, module: ModuleType) -> None:
        self.replace(module, "start", self._yield)
        self.recorder.signals.tick.subscribe(self.name, self._overdue)

    def _yield(self, original: Function) -> Function:
        taken = self.recorder.signals.profiler_taken

        def start(*args: object, **kwargs: object) -> object:
            taken.send()
            return original(*args, **kwargs)

        return start

    def _give_way(self) -> None:
        self._number = _MOST_SHARED_WINDOWS
        if self._session is not None:
            self._close(self.recorder.local.lane)

    def _shared_step(self, lane: Lane, step: int) -> None:
        """A step of a job ended, the same on every worker."""
        self._shared = True
        if self._session is not None:
            enough = step - self._opened[0] >= self._wanted
            if enough or clock() - self._opened[1] > _SHARED_SPAN:
                self._close(lane)
        elif step >= self._next_shared and self._number < _MOST_SHARED_WINDOWS:
            self._next_shared *= _TIMES_FURTHER
            if _ASKED_FOR in os.environ and not self._is_taken():
                self._open(lane, _SHARED_WINDOW, _EXPENSIVE_OPS)

    def _stepped(self, lane: Lane, total: int) -> None:
        if self._shared or self.recorder.is_worker:
            return
        if self._session is not None:
            if lane.thread == self._thread and self._is_enough(self._session):
                self._close(lane)
            else:
                self.steps.ask_again()
        elif (
            total >= self._next_check
            and self._number < _MOST_WINDOWS
            and not self.recorder.is_trial  # whose steps are timed
        ):
            self._next_check = total + (total >> 6)
            self._perhaps_open(lane)
            if self._session is not None:
                self.steps.ask_again()

    def _is_enough(self, window: Window) -> bool:
        steps = self.steps.led - self._opened[0]
        return steps >= self._wanted or (steps > 0 and window.most_events() > FEW_EVENTS)

    def _perhaps_open(self, lane: Lane) -> None:
        now = clock()
        if not self._began:
            self._began = now
        age, steps = now - self._began, self.steps.led
        warmed_up = any(steps >= enough and age >= long for enough, long in _WARMED_UP)
        expected = age // max(1, steps) * self._steps_wanted(steps, age)
        too_young = expected > 2 * _SPAN and age < _TIMES_ITS_LENGTH * expected
        if not warmed_up or too_young or self._is_taken() or now < self._due:
            return
        if self.recorder.writer.stalled:
            return
        self._due = now + _INTERVAL
        self._open(lane, self._steps_wanted(steps, age))

    @staticmethod
    def _is_taken() -> bool:
        """Whether the program profiles itself."""
        return getattr(sys.modules.get(_V2), "_profiler", None) is not None

    def _open(self, lane: Lane, steps: int, level: int = USUAL_LEVEL) -> None:
        """Open a window for some steps."""
        now = clock()
        self._number += 1
        self._wanted = steps
        self._thread = lane.thread
        lane.busy = True
        try:
            self._session = open_window(self._folder(), level)
        finally:
            lane.busy = False
        self._opened = (self.steps.led, clock())
        if self.is_over:  # disarmed on another thread meanwhile
            self._close(None)
        self.recorder.keep_out(lane, self._opened[1] - now, self.name)

    def _folder(self) -> str:
        return os.path.join(self.recorder.folder, f"window-{os.getpid()}-{self._number}")

    @staticmethod
    def _steps_wanted(steps: int, age: int) -> int:
        return max(1, min(_MOST_STEPS, _SPAN * steps // max(1, age)))

    def _overdue(self) -> None:
        """On the watcher's thread: a very long step must not fill the profiler's memory."""
        if self._session is not None and clock() - self._opened[1] > _TOO_LONG:
            self._close(None)

    def _close(self, lane: Lane | None) -> None:
        with self._closing:  # the watcher may be about to close it too
            session, self._session = self._session, None
        if session is None:
            return
        if self._shared:
            self._close_shared(session, lane)
            return
        if self.recorder.writer.stalled:  # the profile would have to be written
            stop_window(session)
            return
        began = clock()
        if lane is not None:
            lane.busy = True
        try:
            file = self._written(session, lane)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe: a full disk
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")
            return
        finally:
            if lane is not None:
                lane.busy = False
        spent = clock() - began
        opened_at_step, opened = self._opened
        self.recorder.emit(
            ProfilerWindow(
                file=file,
                steps=self.steps.led - opened_at_step,
                step=opened_at_step,
                wall=began - opened,
                spent=spent,
                whole=lane is not None,
            ),
            began,
        )
        if lane is not None:
            self.recorder.keep_out(lane, spent, self.name)

    def _written(self, window: Window, lane: Lane | None) -> str:
        """The profile's path below the run folder; empty where there is none."""
        if lane is not None and window.most_events() > _MOST_EVENTS:
            stop_window(window)
            return ""
        export_window(window)
        return self._exported()

    def _close_shared(self, session: Window, lane: Lane | None) -> None:
        """Close a window of a worker; one that ends in the middle of a step is of no use."""
        began = clock()
        if lane is None:
            stop_window(session)
            return
        lane.busy = True
        try:
            file = f"window-{os.getpid()}-{self._number}.trace"
            with open(os.path.join(self.recorder.folder, file), "wb") as kept:
                kept.write(close_window(session))
        except Exception as problem:  # noqa: BLE001 - the fence of a probe: a full disk
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")
            return
        finally:
            lane.busy = False
        spent = clock() - began
        step = self._opened[0]
        steps = self.steps.led - step
        self.recorder.emit(SharedWindow(file=file, step=step, steps=steps, spent=spent), began)
        self.recorder.keep_out(lane, spent, self.name)

    def _exported(self) -> str:
        """The profile's path below the run folder; empty where there is none or it is too large."""
        for folder, _, files in os.walk(self._folder()):
            for name in files:
                path = os.path.join(folder, name)
                if name.endswith(".xplane.pb") and os.path.getsize(path) <= _MOST_BYTES:
                    return os.path.relpath(path, self.recorder.folder)
        shutil.rmtree(self._folder(), ignore_errors=True)
        return ""

    def disarm(self) -> None:
        self.is_over = True
        if self._session is not None:
            self._close(None)
        super().disarm()
