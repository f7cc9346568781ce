"""Facts about the machine around a process: its size, its limits, and how TensorFlow may use it."""

from __future__ import annotations

from collections.abc import Mapping

from unslow.facts.schema import Fact, Stack, Thinned


class Machine(Fact, probe="machine"):
    """The size of the machine and the limits of its control groups; 0 is no limit."""

    cores: int = 0
    affinity: int = 0  # cores that the process may run on
    memory_bytes: int = 0
    swap_bytes: int = 0
    limit_bytes: int = 0
    quota_cores: float = 0.0
    load: float = 0.0


class ThreadLimit(Thinned, probe="settings", kind="setting"):
    """The program limited the threads of TensorFlow, or the cores of its process."""

    what: str = ""  # intra, inter or affinity
    value: int = 0
    stack: Stack = ()


class ThreadSettings(Fact, probe="settings", kind="settings"):
    """The threads and devices of TensorFlow after a few steps; 0 threads: one for each core."""

    intra: int = 0
    inter: int = 0
    affinity: int = 0
    affinity_at_start: int = 0
    environment: Mapping[str, str] = {}  # the variables that limit threads
    devices: tuple[str, ...] = ()  # other than CPUs
