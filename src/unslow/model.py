"""The nouns that every stage shares."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from unslow.facts.phase import Phase as Phase
from unslow.facts.schema import Fact
from unslow.facts.table import FactTable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from unslow.analyse.account import Account
    from unslow.analyse.memory.account import MemoryAccount
    from unslow.analyse.workers.job import Origin

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]


F = TypeVar("F", bound=Fact)


@dataclass(frozen=True, slots=True)
class Location:
    """A line of the user's code; `file` is relative to the run's working directory where it lies
    below it."""

    file: str
    line: int
    function: str = ""
    code: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Event:
    """One timed fact from a probe.

    `time` is in seconds since the run began, and so is all of `data`.
    """

    kind: str
    time: float
    process: int
    data: Mapping[str, Any]


class Shape(enum.Enum):
    """How step time behaves over a loop."""

    STEADY = "steady"
    DRIFTING = "drifting"
    JUMPED = "jumped"
    PERIODIC = "periodic"
    UNKNOWN = "too few steps"


@dataclass(frozen=True, slots=True)
class Trend:
    """What became of the step time: `before` and `after` are typical seconds at the start and the
    end."""

    shape: Shape
    before: float
    after: float
    slope: float = 0.0  # seconds per step, drifting only
    slope_low: float = 0.0
    slope_high: float = 0.0
    at_step: int | None = None  # jumped: the first step of the new level
    period: int | None = None  # periodic: steps between long ones
    spike: float = 0.0  # periodic: typical seconds of a long step

    @property
    def change(self) -> float:
        """Relative change from start to end: 0.2 is twenty per cent slower."""
        return self.after / self.before - 1 if self.before > 0 else 0.0


@dataclass(frozen=True)
class Loop:
    """One training loop: its steps as rows. A row holds one step, or `count` merged ones in long
    runs."""

    location: Location  # the `for` or `while` line, or the line that calls fit()
    update: Location  # the user's line at which the weights change
    style: str  # session, function, eager or keras; predict or data where nothing trains
    process: int
    thread: int
    end: Floats  # seconds since the run began, per row
    count: Ints  # steps in the row
    seconds: Floats  # mean step time of the row
    low: Floats
    high: Floats
    phases: Floats  # rows x len(Phase): mean seconds per step
    trend: Trend
    updates_per_step: float = 1.0
    group: int = (
        1  # updates that Keras makes in one call: a group of steps_per_execution is one step
    )
    stack: tuple[Location, ...] = ()  # user frames at the update, innermost first
    elements: Floats | None = None  # numbers in the batch's first tensor, where they were seen
    trains: bool = (
        True  # False: nothing in the process trains, and a step is a call that the program repeats
    )
    values: Floats | None = (
        None  # the last scalar fetched in the step, mostly the loss; NaN where none was
    )

    @cached_property
    def steps(self) -> int:
        return int(self.count.sum())

    @cached_property
    def total(self) -> float:
        """Seconds spent in all of its steps."""
        return float((self.seconds * self.count).sum())

    @cached_property
    def number(self) -> Ints:
        """The number of the last step in each row, counted from 1."""
        return self.count.cumsum()

    @cached_property
    def start(self) -> float:
        """When the first step began."""
        return float(self.end[0] - self.seconds[0]) if len(self.end) else 0.0

    @property
    def stop(self) -> float:
        return float(self.end[-1]) if len(self.end) else 0.0

    def phase(self, phase: Phase) -> float:
        """Seconds of one phase over the whole loop."""
        return float((self.phases[:, phase] * self.count).sum())

    def steady(self) -> Floats:
        """Step times without the first step, which pays for tracing and device start."""
        return self.seconds[1:] if len(self.seconds) > 1 else self.seconds

    def typical(self) -> float:
        """The median step time, the first step left out."""
        rows = self.steady().copy()
        rows.sort()
        return float(rows[len(rows) // 2]) if len(rows) else 0.0

    def step_at(self, time: float) -> int:
        """The number of the step that was under way at a time; 0 before the loop, `steps` + 1 after
        it."""
        import bisect

        if not len(self.end) or time < self.start:
            return 0
        row = bisect.bisect_left(self.end, time)
        return (
            self.steps + 1 if row >= len(self.end) else int(self.number[row] - self.count[row]) + 1
        )

    def holds(self, event: Event | Fact) -> bool:
        """Whether an event happened during this loop."""
        return event.process == self.process and self.start <= event.time <= self.stop


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
    events: tuple[Event, ...]
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

    def of(self, *kinds: str) -> Iterator[Event]:
        """Events of some kinds, in time order."""
        if len(kinds) == 1:
            return iter(self._by_kind.get(kinds[0], ()))
        return (event for event in self.events if event.kind in kinds)

    @cached_property
    def _by_kind(self) -> Mapping[str, list[Event]]:
        found: dict[str, list[Event]] = {}
        for event in self.events:
            found.setdefault(event.kind, []).append(event)
        return found

    def loops_of(self, process: int) -> list[Loop]:
        """The loops of one process; a job has as many processes as it has loops."""
        return self._loops_by_process.get(process, [])

    @cached_property
    def _loops_by_process(self) -> Mapping[int, list[Loop]]:
        found: dict[int, list[Loop]] = {}
        for loop in self.loops:
            found.setdefault(loop.process, []).append(loop)
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

    def loop_of(self, event: Event | Fact) -> Loop | None:
        """The loop that an event fell into."""
        return next((loop for loop in self.loops if loop.holds(event)), None)

    def line(self, file: str, line: int) -> str:
        """The text of a source line as it was run, or nothing."""
        lines = self.sources.get(file, "").splitlines()
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""


class Certainty(enum.Enum):
    """How far the facts carry: MEASURED needs no inference, LIKELY rests on one."""

    MEASURED = "measured"
    LIKELY = "likely"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Something a reader can check."""

    label: str
    value: float | int | str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Where a growing cost leads: at `step`, one step takes `step_seconds` or memory holds
    `bytes`."""

    step: int
    step_seconds: float | None = None
    bytes: float | None = None
    text: str = ""
    on_disk: bool = False  # `bytes` are those of files


@dataclass(frozen=True)
class Finding:
    """A cause seen in a run: where, what it costs, and the numbers that say so."""

    cause: str
    title: str  # one line in the user's own names and numbers
    location: Location | None
    seconds: float  # what could be had back in this run
    evidence: tuple[Evidence, ...]
    grows: bool = False
    forecast: Forecast | None = None
    certainty: Certainty = Certainty.MEASURED
    advice: str = ""  # what to do, in words, where no diff can be written
    fault: bool = True  # False: an honest answer that is no fault of the program
    in_first_step: bool = False  # its cost lies in the first step, which a proof then counts
    detail: object = None  # what the cause hands to its own `fix`: a small class of its file
    merged: tuple[str, ...] = ()  # causes that explained the same seconds
    frees: float = 0.0  # bytes of the peak that could be had back
    stretch: str = ""  # outside of the steps: the name of the stretch of the account it lies in


class Safety(enum.Enum):
    """EXACT: same results by construction. CLOSE: up to floating point. REVIEW: may change
    meaning."""

    EXACT = "exact"
    CLOSE = "close"
    REVIEW = "review"


@dataclass(frozen=True)
class Fix:
    """New texts for the user's files."""

    title: str
    safety: Safety
    files: Mapping[str, str]  # file (as in Location) → its whole new text
    note: str = ""  # REVIEW: the sentence that says how the meaning may change


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no diff is written, and the line that stands in the way."""

    reason: str
    location: Location | None = None


class Verdict(enum.Enum):
    PROVED = "proved"
    NO_EFFECT = "no effect"
    SLOWER = "slower"
    RESULTS_DIFFER = "results differ"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Growth:
    """What grew with the steps, in seconds or bytes per step: before the change and after it."""

    what: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Peak:
    """The most memory that a process held, in bytes: medians before the change and after it."""

    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Quality:
    """The loss over several seeds, before and after, in the third of the steps where after is
    worst."""

    seeds: int
    before: float
    after: float
    worst_gap: float  # by which after may differ from before, by a test at 5 %; negative: below it
    margin: float  # by which it may: a multiple of the spread of before from seed to seed
    same: bool


@dataclass(frozen=True)
class Proof:
    """Interleaved runs of before and after, and what they say."""

    verdict: Verdict
    speedup: float  # before / after, medians
    low: float
    high: float
    before: tuple[float, ...]  # seconds of `unit`, one per trial
    after: tuple[float, ...]
    steps: int
    difference: float | None  # largest relative difference of the weights, before against after
    noise: float | None  # the same, before against before
    text: str
    growth: Growth | None = None  # that is gone
    peak: Peak | None = None  # where the change is meant to lower it
    unit: str = "a step"  # what was timed: a step, or a run of the whole program
    quality: Quality | None = None  # where the weights differ and the loss was compared instead


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A cause that gave no answer, and why."""

    cause: str
    reason: str
    blind: bool = False  # a signal is missing: a lost probe, a cause that failed


@dataclass(frozen=True)
class Diagnosis:
    """Ranked findings, and all that was not seen."""

    run: Run
    findings: tuple[Finding, ...]
    fixes: Mapping[int, Fix | Refusal]  # by index of the finding
    not_judged: tuple[Unjudged, ...]
    unexplained: float  # seconds of steps that no finding and no compute explains
    own_seconds: float
    own_peak_bytes: float
    account: Account | None = None  # where every second went
    memory: MemoryAccount | None = None  # what the peak of memory consists of
    failed: tuple[str, ...] = ()  # parts that could not be made, with the reason

    @property
    def explained(self) -> bool:
        """Whether time and memory have names, by findings or by the accounts."""
        in_time = self.account is None or self.account.complete
        return in_time and not self.unnamed_growth

    @property
    def unnamed_growth(self) -> float:
        """Bytes that the process gained with its steps, where no finding is about memory."""
        named = any(finding.grows or finding.frees > 0 for finding in self.findings)
        return 0.0 if self.memory is None or named else self.memory.large_growth

    @property
    def healthy(self) -> bool:
        """Nothing was found, time and memory are explained, and no signal was missing."""
        faults = any(finding.fault for finding in self.findings)
        blind = any(one.blind for one in self.not_judged)
        whole = self.explained and not blind and not self.failed
        return self.run.steps > 0 and not faults and whole
