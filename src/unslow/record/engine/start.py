"""Starts and ends the recording of this process."""

from __future__ import annotations

import atexit
import importlib
import os
import pkgutil
import resource
import sys
import threading
from collections.abc import Callable
from types import ModuleType

from unslow.facts.process import End, Imported
from unslow.record import probes
from unslow.record.engine.arm import Arming
from unslow.record.engine.fence import Fence
from unslow.record.engine.forks import in_child
from unslow.record.engine.giving_way import GivingWay
from unslow.record.engine.live_objects import find_living
from unslow.record.engine.probe import WRAPPERS, Doors, Probe, hide_wrappers
from unslow.record.engine.recorder import Recorder, clock
from unslow.record.engine.steps import Steps
from unslow.record.engine.watcher import Watcher
from unslow.record.trial.control import Trial


def _is_probe(kind: object, module: ModuleType) -> bool:
    own = isinstance(kind, type) and kind.__module__ == module.__name__
    return own and issubclass(kind, Probe)  # type: ignore[arg-type]


class Recording:
    """One process being recorded into a run folder."""

    def __init__(self, folder: str, trial: str = "", beside: GivingWay | None = None) -> None:
        self._beside = beside  # a program that runs already, and goes on after the end
        self._attached = beside is not None
        self.recorder = Recorder(folder, late=self._attached)
        self.steps = Steps(self.recorder)
        self.watcher = Watcher(self.recorder, self.steps)
        self.trial = Trial(trial, self.recorder, self.steps) if trial else None
        of_trial = self.trial.probes(self.watcher) if self.trial is not None else []
        self.arming = Arming(self.recorder, [*of_trial, *self._probes()])
        self.own_bytes = 0  # memory that the recorder took before the program began
        self._show = hide_wrappers()
        self._begun = False
        self._ended = False
        self._exits = False
        self._is_fork = False

    def _probes(self) -> list[Probe]:
        """Every probe in `probes/`; one that does not even load is named and left out."""
        found: list[Probe] = [_Beginning(self)]
        for info in pkgutil.walk_packages(probes.__path__, f"{probes.__name__}."):
            with Fence(self.recorder, info.name.rpartition(".")[2]):
                module = importlib.import_module(info.name)
                for kind in list(vars(module).values()):
                    if _is_probe(kind, module):
                        found += self._made(kind)
            if self._beside is not None:
                self._beside.rest()
        if "UNSLOW_WHATIF" in os.environ:
            with Fence(self.recorder, "whatif"):
                found += importlib.import_module("unslow.record.trial.whatif").switches(
                    self.recorder, self.steps, self.watcher
                )
        return found

    def _made(self, kind: type[Probe]) -> list[Probe]:
        """A probe; one that cannot be made is lost under its own name, which causes read."""
        with Fence(self.recorder, kind.name):
            return [kind(self.recorder, self.steps, self.watcher)]
        return []

    def start(self) -> None:
        self.arming.install()
        atexit.register(self._exit)
        in_child["recording"] = self.forked

    def start_late(self, beside: GivingWay) -> None:
        """In a process that already runs: learn what is there, in one pass, before a step."""
        self.recorder.local.lane.busy = True  # what we call on this thread is not the program's
        living = find_living(self.recorder.user, beside.rest)
        beside.rest()
        self.start()
        self.arming.inherit(living)
        self.recorder.emit(living.described())
        self.arming.follow_aliases(beside.rest)

    def begin(self, module: ModuleType) -> None:
        """TensorFlow is there: from now on this process writes."""
        if self._begun:
            return
        self._begun = True
        self.recorder.header()
        self.recorder.emit(
            Imported(
                tensorflow=str(getattr(module, "__version__", "")),
                since=clock() if self._attached else self.recorder.started,
                keras=_keras_version(),
            )
        )
        if self.trial is not None:
            self.trial.seed()
        self.watcher.start()

    def _end(self) -> End:
        recorder = self.recorder
        return End(
            how=self._how(),
            probes=recorder.probes,
            peak_rss=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            inspections=sum(recorder.inspection_times.values()),
            looks=recorder.inspection_times,
            rows=self.steps.cost,
            calls=sum(lane.calls for lane in recorder.lanes),
            call_cost=self.watcher.call_cost,
            samples=self.watcher.samples,
            keras=_keras_version(),
            threads=threading.active_count(),
            recorder_bytes=self.own_bytes,
        )

    def forked(self) -> None:
        """A forked child writes its own files, from its first step on."""
        recorder, steps = self.recorder, self.steps
        if not self._begun or self._ended or recorder.pid == os.getpid():
            return
        self._is_fork = True
        self._fenced("watcher", self.watcher.after_fork)
        self._fenced("engine", recorder.after_fork)
        self._fenced("steps", steps.after_fork)
        self.watcher = Watcher(recorder, steps)

        def first_step(lane: object, total: int) -> None:
            recorder.signals.step.unsubscribe(first_step)
            self.watcher.start()

        recorder.signals.step.subscribe("watcher", first_step)

    def _exit(self) -> None:
        self._exits = True
        self.end()

    def end(self) -> None:
        """Put everything back and write the rest; safe to call twice."""
        if self._ended:
            return
        self._ended = True
        atexit.unregister(self._exit)
        self._fenced("steps", self.steps.leave_fast_path)
        if self._attached:
            self._fenced("engine", self.recorder.signals.ignore_program)
        self._fenced("engine", self.arming.uninstall)
        self._fenced("engine", self._show)
        if self._attached:
            self._fenced("engine", self._forget)
        if self.trial is not None and self._begun:  # what starts workers leaves theirs alone
            self._fenced("trial", self.trial.finish)
        if (
            not self._begun
            or self.recorder.pid != os.getpid()
            or (self._is_fork and not self.steps.total)
        ):
            return
        self._fenced("watcher", lambda: self.watcher.stop(self._write_last))

    def _write_last(self) -> None:
        self._fenced("steps", lambda: self.steps.flush(last=True))
        self._fenced("engine", lambda: self.recorder.emit(self._end()))
        self._fenced("writer", self.recorder.flush)
        self._fenced("writer", self.recorder.writer.close)

    def _forget(self) -> None:
        """Keep nothing in a process that goes on."""
        in_child.pop("recording", None)
        WRAPPERS.clear()
        self.recorder.joining.clear()

    def _fenced(self, part: str, work: Callable[[], None]) -> None:
        """A failure at the end must not show in the output of the program."""
        with Fence(self.recorder, part):
            work()

    def _how(self) -> str:
        """How the process ended, or that it goes on."""
        if self._attached and not self._exits:
            return "detached"
        error = getattr(sys, "last_value", None)
        return f"{type(error).__name__}: {error}"[:500] if error is not None else "exit"


def _keras_version() -> str:
    keras = sys.modules.get("keras") or sys.modules.get("tf_keras")
    return str(getattr(keras, "__version__", ""))


class _Beginning(Probe):
    """Sees nothing of the training: only the moment at which TensorFlow has been imported."""

    name = "tensorflow"

    def __init__(self, recording: Recording) -> None:
        super().__init__(recording.recorder, recording.steps, recording.watcher)
        self._recording = recording

    def doors(self) -> Doors:
        return {"tensorflow": self._recording.begin}
