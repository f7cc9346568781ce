"""Sees how TensorFlow may use the machine: its threads, who set them, its cores and devices."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import ModuleType

from unslow.facts.machine import ThreadLimit, ThreadSettings
from unslow.facts.schema import Stack
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane
from unslow.record.probes.machine.machine import usable_cores

_STARTED = 3  # the step after which TensorFlow has started its threads
_CONFIG = "tensorflow.python.framework.config"
_SETTERS = {
    "set_intra_op_parallelism_threads": "intra",
    "set_inter_op_parallelism_threads": "inter",
}
_ENVIRONMENT = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
    "KMP_AFFINITY",
)


class Settings(Probe):
    name = "settings"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._session: Foreign = None  # the last session's own configuration
        self._affinity_at_start = usable_cores()
        self._recorded = False
        self.recorder.signals.step.subscribe(self.name, self._stepped)

    def doors(self) -> Doors:
        return {
            _CONFIG: self.wrapping({name: self._setter(what) for name, what in _SETTERS.items()}),
            "tensorflow.python.client.session": self.wrapping(
                {"BaseSession.__init__": self._session_made}
            ),
            "os": self._on_os,
        }

    def _on_os(self, module: ModuleType) -> None:
        if hasattr(module, "sched_setaffinity"):
            self.replace(module, "sched_setaffinity", self._setter("affinity"))

    def _setter(self, what: str) -> Callable[[Function], Function]:
        probe = self

        def make(original: Function) -> Function:
            def setter(*args: Foreign, **kwargs: Foreign) -> object:
                result = original(*args, **kwargs)
                value = args[-1] if args else next(iter(kwargs.values()), 0)
                stack = probe.recorder.stack(sys._getframe().f_back)
                probe._record_limit(what, _number(value), stack)
                return result

            return setter

        return make

    def _record_limit(self, what: str, value: int, stack: Stack) -> None:
        self.recorder.emit(ThreadLimit(key=what, what=what, value=value, stack=stack))

    def _session_made(self, original: Function) -> Function:
        probe = self

        def __init__(
            self: object,
            target: object = "",
            graph: object = None,
            config: object = None,
            **kwargs: object,
        ) -> None:
            original(self, target, graph, config, **kwargs)
            if config is not None:
                probe._session = (config, probe.recorder.stack(sys._getframe().f_back))

        return __init__

    def _stepped(self, lane: Lane, total: int) -> None:
        if total < _STARTED or self._recorded:
            return
        self._recorded = True
        with self.inspection(lane):
            self._record_settings()

    def _record_settings(self) -> None:
        config: Foreign = sys.modules.get(_CONFIG)
        threads = {
            name: int(getattr(config, f"get_{name}_op_parallelism_threads")())
            for name in ("intra", "inter")
        }
        if self._session is not None:
            chosen, stack = self._session
            for name in threads:
                number = int(getattr(chosen, f"{name}_op_parallelism_threads", 0))
                if number:
                    threads[name] = number
                    self._record_limit(name, number, stack)
        context: Foreign = sys.modules.get("tensorflow.python.eager.context")
        # Seen in 2.15–2.21; it is not there before the first eager op.
        logical = getattr(context.context(), "_logical_devices", None) or ()
        self.recorder.emit(
            ThreadSettings(
                intra=threads["intra"],
                inter=threads["inter"],
                affinity=usable_cores(),
                affinity_at_start=self._affinity_at_start,
                environment={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                devices=tuple(device.name for device in logical if device.device_type != "CPU"),
            )
        )


def _number(value: object) -> int:
    """The number of threads, or of the cores in a set."""
    if isinstance(value, int):
        return value
    return len(value) if hasattr(value, "__len__") else 0
