"""A recorded run, read back: processes, loops, samples, facts and sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from unslow.facts.phase import Phase
from unslow.facts.schema import Fact
from unslow.facts.table import FactTable
from unslow.model.loop import Location, Loop

if TYPE_CHECKING:
    from unslow.analyse.workers.job import Origin
    from unslow.model.loop import Floats


F = TypeVar("F", bound=Fact)


@dataclass(frozen=True, slots=True)
class Sample:
    """Stack samples of one place: the user's frames (innermost first) and what ran below them."""

    stack: tuple[Location, ...]
    # "python" (the user's own line), or the library below it: "tensorflow", "keras", "numpy", …
    leaf: str
    process: int
    training: bool  # taken on the thread that trains
    first_half: int
    second_half: int
    in_steps: int  # of them, while a training loop was under way
    phase: Phase = Phase.OTHER  # what the time at this place counts for
    bins: tuple[tuple[float, float, int], ...] = ()  # start, end, samples: when they were taken

    @property
    def count(self) -> int:
        return self.first_half + self.second_half

    def within(self, start: float, end: float) -> float:
        """Samples in an interval; a bin that lies partly inside counts in part."""
        found = 0.0
        for first, last, count in self.bins:
            common = min(end, last) - max(start, first)
            if common > 0:
                found += count * common / (last - first)
        return found


@dataclass(frozen=True)
class Ticks:
    """What the watcher read at intervals: parallel arrays, one entry per tick."""

    time: Floats
    columns: Mapping[str, Floats]  # rss, major_faults, minor_faults, read_bytes, write_bytes, …


@dataclass(frozen=True)
class Process:
    """One Python process of the command that imported TensorFlow."""

    index: int
    pid: int
    host: str
    worker: str  # "worker 0" from TF_CONFIG, "" for a single process
    argv: tuple[str, ...]
    versions: Mapping[str, str]
    started: float
    ended: float
    how: str  # "exit", the uncaught exception, or "killed"
    probes: Mapping[str, str]  # name → "armed" or "lost: why"
    own: Mapping[str, float]  # what recording cost: seconds, calls, peak_rss_bytes, …
    ticks: Ticks
    machine: Mapping[str, float]  # cores, memory_bytes, limits


@dataclass(frozen=True)
class Run:
    """One recorded execution, read back from its folder."""

    folder: str
    command: tuple[str, ...]
    cwd: str
    started: float  # seconds since the epoch
    seconds: float  # from the start of the first process to its end
    ended: str  # "exit 0", "killed by SIGKILL", "running"
    processes: tuple[Process, ...]
    loops: tuple[Loop, ...]
    samples: tuple[Sample, ...]
    sources: Mapping[str, str]  # file (as in Location) → its text when it ran
    sampling_hz: float = 0.0
    notes: tuple[str, ...] = ()  # what was damaged or missing in the folder
    at_lowest_rate: str = ""  # what followed the part in detail, which alone is judged
    attached: bool = False  # recording began while the program was already running
    table: FactTable = field(default_factory=FactTable)
    origins: Mapping[int, Origin] = field(default_factory=dict)  # by process: clocks that differ

    def facts(self, kind: type[F], process: int | None = None) -> tuple[F, ...]:
        """Every fact of a kind, or those of one process, in time order."""
        if process is None:
            return self.table.of(kind)
        return tuple(self.table.of_process(kind, process))

    def facts_during(self, loop: Loop, kind: type[F]) -> list[F]:
        """Those that were recorded while a loop ran."""
        return [fact for fact in self.facts(kind, loop.process) if loop.holds(fact)]

    def in_training(self, fact: Fact) -> bool:
        """Whether a fact belongs to a loop; its first step counts, what precedes it does not."""
        loops = self.loops_of(fact.process)
        return any(loop.start <= fact.time <= loop.stop + 1e-6 for loop in loops)

    def process_of(self, loop: Loop) -> Process:
        """The process that a loop ran in."""
        return self.processes[loop.process]

    def loops_of(self, process: int) -> list[Loop]:
        """The loops of one process; a job has as many processes as it has loops."""
        return self._loops_by_process.get(process, [])

    @cached_property
    def _loops_by_process(self) -> Mapping[int, list[Loop]]:
        found: dict[int, list[Loop]] = {}
        for loop in self.loops:
            found.setdefault(loop.process, []).append(loop)
        return found

    def samples_of(self, process: int) -> list[Sample]:
        """The stack samples of one process."""
        return self._samples_by_process.get(process, [])

    @cached_property
    def _samples_by_process(self) -> Mapping[int, list[Sample]]:
        found: dict[int, list[Sample]] = {}
        for sample in self.samples:
            found.setdefault(sample.process, []).append(sample)
        return found

    @property
    def versions(self) -> dict[str, str]:
        """Of Python and of the libraries in use, by name."""
        found: dict[str, str] = {}
        for process in self.processes:
            found.update(process.versions)
        return found

    @cached_property
    def steps(self) -> int:
        return sum(loop.steps for loop in self.loops)

    @property
    def training(self) -> tuple[Loop, ...]:
        """The loops that train; the others only repeat a call."""
        return tuple(loop for loop in self.loops if loop.trains)

    @cached_property
    def trained(self) -> float:
        """Seconds in training steps: what a share in a finding is a share of."""
        return sum(loop.total for loop in self.loops)

    def loop_of(self, fact: Fact) -> Loop | None:
        """The loop that a fact fell into."""
        return next((loop for loop in self.loops if loop.holds(fact)), None)

    def line(self, file: str, line: int) -> str:
        """The text of a source line as it was run, or nothing."""
        lines = self.sources.get(file, "").splitlines()
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""
