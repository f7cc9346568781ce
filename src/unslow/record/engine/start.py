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

from unslow.record import probes
from unslow.record.engine.arm import Arming
from unslow.record.engine.probe import Probe, hide_wrappers
from unslow.record.engine.recorder import Recorder, clock
from unslow.record.engine.steps import Steps
from unslow.record.engine.watcher import Watcher
from unslow.record.trial.control import Trial


class Recording:
    """One process being recorded into a run folder."""

    def __init__(self, folder: str, trial: str = "") -> None:
        self.recorder = Recorder(folder)
        self.steps = Steps(self.recorder)
        self.watcher = Watcher(self.recorder, self.steps)
        self.arming = Arming(self.recorder, self._probes())
        self.trial = Trial(trial, self.recorder, self.steps) if trial else None
        self.own_bytes = 0  # memory that the recorder took before the program began
        self._show = hide_wrappers()
        self._begun = False
        self._ended = False
        self._is_fork = False

    def _probes(self) -> list[Probe]:
        """Every probe in `probes/`; one that does not even load is named and left out."""
        found: list[Probe] = [_Beginning(self)]
        for info in pkgutil.walk_packages(probes.__path__, f"{probes.__name__}."):
            try:
                module = importlib.import_module(info.name)
                kinds = [
                    kind
                    for kind in vars(module).values()
                    if isinstance(kind, type) and kind.__module__ == module.__name__
                ]
                found += [
                    kind(self.recorder, self.steps, self.watcher)
                    for kind in kinds
                    if isinstance(kind, type) and issubclass(kind, Probe)
                ]
            except Exception as problem:  # noqa: BLE001 - the fence of a probe
                self.recorder.lost(
                    info.name.rpartition(".")[2], f"{type(problem).__name__}: {problem}"
                )
        if "UNSLOW_WHATIF" in os.environ:
            try:
                found += importlib.import_module("unslow.record.trial.whatif").switches(
                    self.recorder, self.steps, self.watcher
                )
            except Exception as problem:  # noqa: BLE001 - the fence of a switch
                self.recorder.lost("whatif", f"{type(problem).__name__}: {problem}")
        return found

    def start(self) -> None:
        self.arming.install()
        atexit.register(self.end)
        os.register_at_fork(after_in_child=self._forked)

    def begin(self, module: ModuleType) -> None:
        """TensorFlow is there: from now on this process writes."""
        if self._begun:
            return
        self._begun = True
        self.recorder.header()
        keras = sys.modules.get("keras") or sys.modules.get("tf_keras")
        self.recorder.line(
            "imported",
            clock(),
            tensorflow=getattr(module, "__version__", ""),
            since=self.recorder.started,
            keras=getattr(keras, "__version__", ""),
        )
        if self.trial is not None:
            self.trial.seed()
        self.watcher.start()

    def _forked(self) -> None:
        """A forked child writes its own files, and only if it trains: the watcher starts with its first step."""
        recorder, steps = self.recorder, self.steps
        if not self._begun or recorder.pid == os.getpid():
            return
        self._is_fork = True
        recorder.after_fork()
        steps.after_fork()
        self.watcher = Watcher(recorder, steps)

        def first_step(lane: object, total: int) -> None:
            recorder.signals.step.unsubscribe(first_step)
            self.watcher.start()

        recorder.signals.step.subscribe("watcher", first_step)

    def end(self) -> None:
        """Put everything back and write the rest; safe to call twice."""
        if self._ended:
            return
        self._ended = True
        self.steps.leave_fast_path()
        self.arming.uninstall()
        self._show()
        if self.trial is not None:
            self.trial.finish()
        if (
            not self._begun
            or self.recorder.pid != os.getpid()
            or (self._is_fork and not self.steps.total)
        ):
            return
        self.watcher.stop()
        self.steps.flush(last=True)
        error = getattr(sys, "last_value", None)
        usage = resource.getrusage(resource.RUSAGE_SELF)
        keras = sys.modules.get("keras") or sys.modules.get("tf_keras")
        self.recorder.line(
            "end",
            clock(),
            how=f"{type(error).__name__}: {error}"[:500] if error is not None else "exit",
            probes=self.recorder.probes,
            peak_rss=usage.ru_maxrss * 1024,
            looks_ns=sum(self.recorder.looks.values()),
            looks=self.recorder.looks,
            rows_ns=self.steps.cost,
            calls=sum(lane.calls for lane in self.recorder.lanes),
            call_cost_ns=self.watcher.call_cost,
            samples=self.watcher.samples,
            keras=getattr(keras, "__version__", ""),
            threads=threading.active_count(),
            recorder_bytes=self.own_bytes,
        )
        self.recorder.flush()
        self.recorder.writer.close()


class _Beginning(Probe):
    """Not a sight: the moment at which TensorFlow has been imported."""

    name = "tensorflow"

    def __init__(self, recording: Recording) -> None:
        super().__init__(recording.recorder, recording.steps, recording.watcher)
        self._recording = recording

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        return {"tensorflow": self._recording.begin}
