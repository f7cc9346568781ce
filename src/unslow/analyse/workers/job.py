"""A job of many workers: its account per worker and step, as plain arrays.

Rows are workers, columns are stretches of steps (`Job.step`): one step each at first, several in
long runs. Every value is the mean per step of its stretch, in seconds; NaN where a worker has no
record of it. For 1,000 workers and 100,000 steps there are 4,400 columns.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from unslow.model import Location

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

NOBODY = -1


class Work(enum.IntEnum):
    """What a worker does itself in a step; the rest of the step is wait and transfer."""

    INPUT = 0
    COMPUTE = 1
    PYTHON = 2
    SAVE = 3  # checkpoints, summaries, logs
    EVALUATE = 4  # validation and callbacks
    COLLECTOR = 5  # Python's garbage collector
    BUILD = 6  # tracing and building


class State(enum.Enum):
    """What became of a worker."""

    WHOLE = "ran to its end"
    RUNNING = "still running"
    LATE = "joined late"
    DIED = "died"
    RESTARTED = "was restarted"
    MISSING = "left no recording"


@dataclass(frozen=True, slots=True)
class Clock:
    """How a worker's clock is related to the job's: add `offset` seconds to its times."""

    offset: float = 0.0
    error: float = 0.0  # seconds: how far off that may be
    shared: int = 0  # ends of collectives that it rests on; 0: the same machine's clock


@dataclass(frozen=True, slots=True)
class Origin:
    """The moment of a process's clock (ns) at which the run began, and how sure that is."""

    start: int
    clock: Clock = Clock()


@dataclass(frozen=True, slots=True)
class Worker:
    """One process of a job."""

    role: str  # chief, worker, evaluator, ps or coordinator
    index: int
    process: int = -1  # of `Run.processes`; -1 where it left no recording
    host: str = ""
    pid: int = 0
    source: str = ""  # where its identity is from: TF_CONFIG, Slurm, …
    started: float = 0.0  # seconds since the run began, by the job's clock
    ended: float = 0.0
    state: State = State.WHOLE
    how: str = ""  # how it ended: "exit", "killed", the exception
    first_step: int = 0  # of the job's steps; 0: it has none
    last_step: int = 0
    clock: Clock = Clock()
    earlier: tuple[int, ...] = ()  # processes of the same identity before a restart

    @property
    def name(self) -> str:
        return f"{self.role} {self.index}"


@dataclass(frozen=True, slots=True)
class CollectiveKind:
    """One collective of the program: what a step exchanges at a line."""

    what: str  # all_reduce or all_gather
    location: Location | None
    bytes: int  # in one step, of one worker; 0 where it is not known
    count: float  # in one step
    tensors: int  # packed into one
    sparse: bool
    eager: bool
    within: str  # "", "input" or "reduce"


@dataclass(frozen=True)
class Exact:
    """What profiler windows in the same steps of all workers measured; medians per step."""

    workers: tuple[int, ...]  # rows of the job
    steps: int  # of all windows, seen on all of them
    spans: npt.NDArray[np.float64]  # per worker: seconds in the first collective of a step
    transfer: float  # seconds per step: the shortest of each collective over all workers, summed
    collectives: float  # per step
    input: npt.NDArray[np.float64]  # per worker: share of the computing that waits for an element


@dataclass(frozen=True, slots=True)
class RemoteWorker:
    """A worker as its coordinator sees it."""

    index: int
    closures: int
    busy: float  # seconds
    longest: float


@dataclass(frozen=True)
class Job:
    """All workers that train, aligned by the numbers of their steps."""

    workers: tuple[Worker, ...]  # the rows
    step: Ints  # columns: the number of the last step in each
    count: Ints  # columns: steps in each
    end: npt.NDArray[np.float64]  # columns: when it ended, by the job's clock
    wall: Floats  # rows x columns
    own: Floats  # rows x columns x len(Work)
    wait: Floats  # rows x columns: for the last one to arrive
    transfer: Floats  # columns
    culprit: npt.NDArray[np.int32]  # columns: the row that waited least; NOBODY where all are close
    blamed: Floats  # columns: what the median other worker waited for it
    ideal: Floats  # columns: the step by replay, with others in the place of stragglers
    elements: Floats  # rows x columns: numbers in a batch
    delay: Floats  # rows x columns: threads that waited for a processor
    cpu: Floats  # rows x columns: processor time of the process
    between: Floats  # rows x columns: computing before the step's own call, such as an evaluation
    judged: npt.NDArray[np.bool_]  # columns: not the first steps, nor those with inspections
    collectives: tuple[CollectiveKind, ...] = ()
    exact: Exact | None = None
    others: tuple[Worker, ...] = ()  # evaluators, parameter servers, coordinators, the missing
    size: int = 0  # processes that should train
    strategy: str = ""
    notes: tuple[str, ...] = ()  # what was odd: two of one identity, another job's workers …
    remote: tuple[RemoteWorker, ...] = ()  # of a coordinator
    per_step: float = 0.0  # collectives of one worker in a step
    stragglers: tuple[int, ...] = ()  # rows that the others wait for, in the job as a whole

    @property
    def steps(self) -> int:
        return int(self.count.sum())

    @cached_property
    def total_wait(self) -> npt.NDArray[np.float64]:
        """Per worker: seconds that it waited for others in the whole job."""
        return _weighted(self.wait, self.count)

    @cached_property
    def total_wall(self) -> npt.NDArray[np.float64]:
        return _weighted(self.wall, self.count)

    @cached_property
    def caused(self) -> npt.NDArray[np.float64]:
        """Per worker: seconds that the median other worker waited in steps it was last in."""
        return caused_by(len(self.workers), self.blamed, self.culprit, self.count)

    @cached_property
    def ideal_step(self) -> float:
        """Seconds per step without stragglers, by replay."""
        return _mean(self.ideal[self.judged], self.count[self.judged])

    @cached_property
    def measured_step(self) -> float:
        """Seconds per step as measured, over the same steps."""
        if not self.judged.any():
            return 0.0
        return _mean(np.nanmedian(self.wall[:, self.judged], axis=0), self.count[self.judged])


def caused_by(
    workers: int, blamed: Floats, culprit: npt.NDArray[np.int32], count: Ints
) -> npt.NDArray[np.float64]:
    """Per worker: seconds that the median other worker waited in steps it was last in."""
    found = np.zeros(workers)
    named = culprit >= 0
    np.add.at(found, culprit[named], blamed[named] * count[named])
    return found


def _weighted(values: npt.NDArray[np.float32], count: Ints) -> npt.NDArray[np.float64]:
    return np.asarray(np.nansum(values * count, axis=1), dtype=np.float64)


def _mean(values: npt.NDArray[np.float32], count: Ints) -> float:
    known = ~np.isnan(values)
    steps = count[known].sum()
    return float((values[known] * count[known]).sum() / steps) if steps else 0.0


def names(workers: Sequence[Worker]) -> str:
    """Several workers in one line: "worker 0, worker 3 and 5 more"."""
    shown = [worker.name for worker in workers[:2]]
    if len(workers) > 2:
        return f"{', '.join(shown)} and {len(workers) - 2} more"
    return " and ".join(shown)
