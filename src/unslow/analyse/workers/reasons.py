"""Why the others wait for a worker: what it does more of than they do, where that explains it."""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unslow.analyse.workers.job import Job, Work
from unslow.analyse.workers.step_account import MORE_STARVED
from unslow.model import Location, Phase, Run

# A reason is named where it explains this much of the excess. Published detectors use 80 %; with
# one machine's cores shared by all workers, a fault of 30 ms raises other parts as well (measured
# on jobs of 2 to 4 processes: 60 to 95 % of the excess lies in the injected part).
_EXPLAINS = 0.6
_MORE_ELEMENTS = 1.15  # numbers in a batch, against the median other worker's
# A worker whose processor was taken away waits for it and does not compute more.
_DELAY_EXPLAINS = 0.5  # of the excess: threads that could run and did not
_NO_MORE_WORK = 0.35  # of the excess: processor time
_GROWN_BYTES = 256 << 20  # of resident memory, beyond what the others grew: a judgement
_FAULTS = 50.0  # major page faults per second: each takes about a tenth of a millisecond or more
_TIMES_PEERS = 4.0  # what the median peer has
_MOST_PEERS = 16  # that a straggler is compared with in what is slow to read
# A slower machine stretches what all workers do. One that does many times more of something does
# something else (measured: two workers on a core of their own and one on a busy core differ by 2).
_SLOWED = 6.0


class Why(enum.Enum):
    """The reasons that are told apart."""

    INPUT = "input"
    PYTHON = "own Python"
    BATCHES = "longer batches"
    COMPUTE = "more compute"
    MEMORY = "memory"
    COLLECTOR = "garbage collection"
    MACHINE = "machine"
    SAVE = "saving"
    EVALUATE = "evaluation or callbacks"
    BUILD = "tracing"
    LATE = "late start"
    UNKNOWN = "reason not visible"


_OF_WORK = {
    Work.INPUT: Why.INPUT,
    Work.COMPUTE: Why.COMPUTE,
    Work.PYTHON: Why.PYTHON,
    Work.SAVE: Why.SAVE,
    Work.EVALUATE: Why.EVALUATE,
    Work.COLLECTOR: Why.COLLECTOR,
    Work.BUILD: Why.BUILD,
}
_PHASES = {
    Why.INPUT: (Phase.INPUT,),
    Why.PYTHON: (Phase.OTHER,),
    Why.MEMORY: (Phase.OTHER, Phase.GC),
    Why.SAVE: (Phase.SAVE, Phase.LOG),
    Why.EVALUATE: (Phase.EVAL, Phase.HOOKS),
    Why.BUILD: (Phase.TRACE, Phase.BUILD),
}


@dataclass(frozen=True)
class Reason:
    """Why a worker is late, in the steps in which the others waited for it."""

    why: Why
    steps: int  # in which it was last
    since: int  # the first of them
    excess: float  # seconds per such step: its own work beyond the median other worker's
    explained: float  # of the excess, the reason's share
    by_work: npt.NDArray[np.float64]  # excess by kind of work
    location: Location | None = None


@dataclass(frozen=True)
class _Case:
    """One straggler, its peers, and the steps in which it was last."""

    run: Run
    job: Job
    row: int
    peers: list[int]
    late: npt.NDArray[np.bool_]  # columns

    def means(self, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """Per worker, the mean per step over all judged steps."""
        chosen = values[:, self.job.judged]
        weights = self.job.count[self.job.judged]
        total = np.nansum(chosen * weights, axis=1) / max(1, weights.sum())
        return np.asarray(total, dtype=np.float64)

    def beyond(self, values: npt.NDArray[np.float32]) -> float:
        """How much more of something it has per step than its median peer."""
        mean = self.means(values)
        return float(mean[self.row] - np.median(mean[self.peers]))


def reason_of(run: Run, job: Job, row: int) -> Reason:
    """The reason for one straggler, from its own steps against its peers'."""
    everyone = range(len(job.workers))
    peers = [other for other in everyone if other not in {row, *job.stragglers}]
    peers = peers or [other for other in everyone if other != row]
    case = _Case(run, job, row, peers, job.culprit == row)
    late = case.late
    usual, by_work = _excess(case)
    excess = float(np.maximum(by_work, 0).sum())
    most = Work(int(np.argmax(by_work)))
    explained = float(by_work[most]) / excess if excess > 0 else 0.0
    why = _OF_WORK[most] if explained >= _EXPLAINS else Why.UNKNOWN
    if excess > 0:
        slowed = by_work[most] <= _SLOWED * usual[most]
        why = _refined(case, why, excess, slowed)
    return Reason(
        why=why,
        steps=int(job.count[late].sum()),
        since=int((job.step[late] - job.count[late]).min()) + 1 if late.any() else 0,
        excess=excess,
        explained=explained,
        by_work=by_work,
        location=_line(case, why),
    )


def _excess(case: _Case) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Mean seconds by kind of work in the steps in which it was last: of its median peer, and
    what it has beyond.
    """
    job, late = case.job, case.late
    if not late.any():
        return np.zeros(len(Work)), np.zeros(len(Work))
    usual = np.nanmedian(job.own[case.peers][:, late], axis=0)
    weights = job.count[late][:, None]
    total = weights.sum()
    mean = np.nansum(usual * weights, axis=0) / total
    beyond = np.nansum((job.own[case.row, late] - usual) * weights, axis=0) / total
    return np.asarray(mean, dtype=np.float64), np.asarray(beyond, dtype=np.float64)


def _refined(case: _Case, why: Why, excess: float, slowed: bool) -> Why:
    """What lies behind a phase that took longer: the machine, memory, or more to compute.

    `slowed`: it does what its peers do, only for longer.
    """
    often = case.late.sum() > 0.5 * case.job.judged.sum()  # counters are means over all steps
    if why is Why.COMPUTE and _has_longer_batches(case):
        return Why.BATCHES
    if slowed and often and _is_starved(case, excess):
        return Why.MACHINE
    if why in (Why.PYTHON, Why.COLLECTOR, Why.COMPUTE) and _hoards(case):
        return Why.MEMORY
    if why is not Why.COMPUTE:
        return why
    if _is_between(case, excess):
        return Why.EVALUATE
    works_more = case.beyond(case.job.cpu) >= _NO_MORE_WORK * excess
    return Why.COMPUTE if works_more or not often else Why.UNKNOWN


def _is_starved(case: _Case, excess: float) -> bool:
    """Its threads waited for a processor, and it did not use one for longer.

    On a busy machine all wait: it must wait for longer for each second that it runs.
    """
    waited, worked = case.beyond(case.job.delay), case.beyond(case.job.cpu)
    explains = waited >= _DELAY_EXPLAINS * excess and worked <= _NO_MORE_WORK * excess
    delay, cpu = case.means(case.job.delay), case.means(case.job.cpu)
    per_second = delay / np.maximum(cpu, 1e-9)
    usual = float(np.median(per_second[case.peers]))
    return explains and bool(per_second[case.row] >= MORE_STARVED * usual)


def _is_between(case: _Case, excess: float) -> bool:
    """It runs TensorFlow before the step's own call, now and then: an evaluation by hand."""
    job, late = case.job, case.late
    if late.sum() > 0.5 * job.judged.sum():
        return False
    usual = np.nanmedian(job.between[case.peers][:, late], axis=0)
    beyond = np.nansum((job.between[case.row, late] - usual) * job.count[late])
    return bool(beyond / max(1, job.count[late].sum()) >= _EXPLAINS * excess)


def _has_longer_batches(case: _Case) -> bool:
    elements = np.nanmedian(case.job.elements[:, case.late], axis=1)
    usual = float(np.median(elements[case.peers]))
    return bool(usual > 1 and elements[case.row] >= _MORE_ELEMENTS * usual)


def _hoards(case: _Case) -> bool:
    """Its memory grows, or is paged out, as no other worker's is."""
    peers = case.peers[:_MOST_PEERS]
    grown, usual = _grown(case, case.row), float(np.median([_grown(case, at) for at in peers]))
    if grown - usual >= _GROWN_BYTES and grown >= _TIMES_PEERS * usual:
        return True
    paged = _faults(case, case.row)
    usual = float(np.median([_faults(case, at) for at in peers]))
    return paged >= _FAULTS and paged >= _TIMES_PEERS * usual


def _ticks(case: _Case, row: int, name: str) -> tuple[npt.NDArray[np.float64], float]:
    """A counter's values while the job's steps ran, and the seconds between first and last."""
    job = case.job
    process = case.run.processes[job.workers[row].process]
    column = process.ticks.columns.get(name)
    if column is None:
        return np.zeros(0), 0.0
    times = process.ticks.time
    inside = (times >= job.end[0]) & (times <= job.end[-1]) & np.isfinite(column)
    if inside.sum() < 2:
        return np.zeros(0), 0.0
    return column[inside], float(times[inside][-1] - times[inside][0])


def _grown(case: _Case, row: int) -> float:
    values, _ = _ticks(case, row, "rss")
    return float(values[-1] - values[0]) if len(values) else 0.0


def _faults(case: _Case, row: int) -> float:
    values, seconds = _ticks(case, row, "major_faults")
    return float(values[-1] - values[0]) / seconds if seconds > 0 else 0.0


def _line(case: _Case, why: Why) -> Location | None:
    """The user's line at which it spends more samples of that kind than its peers do."""
    phases = _PHASES.get(why)
    if phases is None:
        return None
    run, job = case.run, case.job
    mine = _lines(run, job.workers[case.row].process, phases)
    peers = case.peers[:_MOST_PEERS]
    theirs: Counter[Location] = Counter()
    for other in peers:
        theirs.update(_lines(run, job.workers[other].process, phases))
    beyond = {at: n - theirs[at] / len(peers) for at, n in mine.items()}
    best = max(beyond, key=lambda at: beyond[at], default=None)
    if best is None or beyond[best] <= 0:
        return None
    return Location(best.file, best.line, best.function, run.line(best.file, best.line))


def _lines(run: Run, process: int, phases: tuple[Phase, ...]) -> Counter[Location]:
    found: Counter[Location] = Counter()
    for sample in run.samples_of(process):
        if sample.stack and sample.phase in phases:
            at = sample.stack[0]
            found[Location(at.file, at.line, at.function)] += sample.in_steps
    return found
