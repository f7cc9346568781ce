"""Every step of every worker divided into own work, wait and transfer.

The rule: what the workers' own work leaves of a step is spent in collectives. The shortest of these
rests over all workers is transfer, whatever a worker has beyond it is wait, and the worker with the
shortest is the one that the others waited for.

Own work until the first collective of a step is measured in every step. What follows is one call of
TensorFlow that computes and waits: the processor time in it says how much it computed, on one
processor, or at the rate that windows of the profiler gave for this worker where they were asked
for.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unslow.analyse.workers.job import NOBODY, Exact, Floats, Ints, Work, caused_by
from unslow.analyse.workers.records import SUMS
from unslow.facts.workers import FULL_RECORDS, RECORDS_PER_WIDTH

# A step has a culprit where its own work exceeds the median worker's by a tenth of the step. A
# judgement: balanced jobs of 2 to 4 workers on a busy machine stay below it in most steps.
_LEAST_EXCESS = 0.10
# Steps in which the recorder itself held a worker up for this share of a step are not judged.
_DISTURBED = 0.10
LEAST_SHARE = 0.08  # of all steps that others wait for a straggler: a judgement
# Of that share, without its longest step: what happens once is no straggler. A judgement.
_BESIDE_LONGEST = 0.5
# Own work inside of a call is an estimate. Where others wait for it, steps are longer: this part of
# it has to be seen, if both kinds of steps are known. A judgement.
_SEEN_IN_STEPS = 0.5
_KNOWN_STEPS = 8  # in which it is not late: with fewer, their length is chance
_TIMES_OTHERS = 3.0  # what the median other worker causes: noise is shared by all
_WARM_UP = 3  # steps: workers trace and start at different speeds
MORE_STARVED = 1.5  # wait for a processor per second of running, against the median worker's
_LEAST_RATE = 0.05  # processor seconds per second of computing: below, it is not computing
_FIELDS = {
    Work.INPUT: "input",
    Work.COMPUTE: "compute",
    Work.PYTHON: "python",
    Work.SAVE: "save",
    Work.EVALUATE: "evaluate",
    Work.COLLECTOR: "collector",
    Work.BUILD: "build",
}


@dataclass(frozen=True)
class Columns:
    """The stretches of steps that all workers share."""

    step: Ints  # last step of each
    count: Ints  # steps in each

    def of(self, steps: np.ndarray) -> np.ndarray:
        """The column that holds each step."""
        return np.minimum(np.searchsorted(self.step, steps), len(self.step) - 1)


@dataclass(frozen=True)
class Table:
    """The records of all workers on the same columns: mean seconds per step."""

    columns: Columns
    end: npt.NDArray[np.float64]  # rows x columns, clock seconds
    key: Ints  # rows x columns
    counted: Ints  # rows x columns: steps that the worker has of it
    mean: Mapping[str, Floats]  # field of a record → rows x columns


@dataclass(frozen=True)
class Shares:
    """The account: rows are workers, columns stretches of steps."""

    own: Floats  # x len(Work)
    wait: Floats
    transfer: Floats  # columns only
    culprit: npt.NDArray[np.int32]
    blamed: Floats  # columns: seconds that the median other worker waits for the culprit
    judged: npt.NDArray[np.bool_]  # columns
    inside: Floats  # of `own`, what was estimated: it lies in the call that also waits


def columns_of(last: int) -> Columns:
    """The columns of a job of so many steps."""
    parts = [np.arange(1, min(last, FULL_RECORDS) + 1, dtype=np.int64)]
    at, width = FULL_RECORDS, 2
    while at < last:
        parts.append(at + width * np.arange(1, RECORDS_PER_WIDTH + 1, dtype=np.int64))
        at, width = int(parts[-1][-1]), 2 * width
    step = np.concatenate(parts)
    step = np.append(step[step < last], last)
    return Columns(step, np.diff(step, prepend=0))


def table_of(workers: Sequence[np.ndarray], seconds_per_tick: float = 1e-9) -> Table:
    """All records on one grid. A worker without some steps has NaN there."""
    last = max((int(records["step"][-1]) for records in workers if len(records)), default=0)
    columns = columns_of(last)
    shape = (len(workers), len(columns.step))
    sums = {name: np.full(shape, np.nan, dtype=np.float32) for name in SUMS}
    end = np.full(shape, np.nan)
    key = np.full(shape, -1, dtype=np.int64)
    counted = np.zeros(shape, dtype=np.int64)
    for row, records in enumerate(workers):
        at = columns.of(records["step"])
        if len(at) and (np.diff(at) == 0).any():  # shifted steps: several records in a column
            records, at = _joined(records, at)
        end[row, at] = records["end"] * seconds_per_tick
        key[row, at] = records["key"]
        counted[row, at] = records["count"]
        for name, table in sums.items():
            table[row, at] = records[name] / records["count"]
    return Table(columns, end, key, counted, sums)


def _joined(records: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Records of one column added up."""
    starts = np.flatnonzero(np.diff(at, prepend=-1) != 0)
    joined = records[np.append(starts[1:] - 1, len(records) - 1)].copy()
    for name in ("count", *(records.dtype.names or ())[4:]):
        joined[name] = np.add.reduceat(records[name].astype(np.float64), starts)
    return joined, at[starts]


@dataclass(frozen=True)
class Pace:
    """How the processor time inside of a step's call becomes seconds of own work, per worker."""

    rate: Floats  # processor seconds per second
    starved: Floats  # seconds per step in which it could not run, and its peers could
    starving: Floats  # rows x columns: seconds in which its compiled steps wait for an element
    network: Floats  # processor seconds per step that moving data takes: no own work
    unsure: float  # of a step: what workers differ by may as well be moving data
    recorder: Floats  # rows x columns: those that the recorder's thread takes in a step's call


def pace_of(
    table: Table,
    measured: Mapping[int, float],
    starving: Floats | None = None,
    recorder: Floats | None = None,
) -> Pace:
    """The pace of every worker; `measured`: rates that windows gave, which hold all there is.

    `starving`: what tf.data's models of the iterators say. `recorder`: processor seconds per step
    of its thread, which also runs while a worker waits, for 1 % of the time in short jobs.

    Others are taken to compute on one processor at least, or on as many as the busiest worker,
    which waited least.
    """
    mean = table.mean
    inside = np.maximum(mean["wall"] - mean["before"], 1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a worker without steps
        share = np.nan_to_num(np.nanmedian(mean["inside"] / inside, axis=1))
        delay = np.nan_to_num(np.nanmean(mean["delay"], axis=1))
        cpu = np.nan_to_num(np.nanmean(mean["inside"] + mean["outside"], axis=1))
        network = np.nan_to_num(np.nanmean(mean["network"], axis=1))
    # Which threads do it is chance, so that it may differ between workers that are alike: those
    # known to do it took at least this, and others as much again.
    unsure = 0.0 if measured else float(network.max(initial=0.0))
    network[:] = network.min(initial=np.inf)
    rate = np.full(len(share), max(1.0, float(share.max(initial=0.0))), dtype=np.float32)
    starved = _starved(delay, cpu).astype(np.float32)
    nothing = np.zeros_like(mean["wall"])
    starving = nothing if starving is None else starving
    recorder = nothing if recorder is None else recorder * inside / np.maximum(mean["wall"], 1e-9)
    for row, found in measured.items():
        rate[row] = max(found, _LEAST_RATE)
        starved[row] = starving[row] = network[row] = recorder[row] = 0
    return Pace(rate, starved, starving, network, unsure, recorder)


def _starved(delay: Floats, cpu: Floats) -> Floats:
    """Seconds per step in which each worker waited for a processor, beyond what its peers would
    have waited to run for as long.
    """
    per_second: Floats = np.asarray(delay / np.maximum(cpu, 1e-9), dtype=np.float32)
    if not len(delay):
        return delay
    usual, usual_rate = (float(_median(each[:, None])[0]) for each in (delay, per_second))
    more = (delay >= MORE_STARVED * usual) & (per_second >= MORE_STARVED * usual_rate)
    return np.where(more, delay - np.maximum(usual, usual_rate * cpu), 0)


def shares_of(table: Table, pace: Pace, exact: Exact | None = None) -> Shares:
    """The account of every step by the rule above."""
    mean = table.mean
    wall, before = mean["wall"], mean["before"]
    transferred = exact.transfer if exact is not None else 0.0  # a step takes at least this
    inside = np.maximum(wall - before - transferred, 0)
    others = pace.network[:, None] + pace.recorder
    computing = np.maximum(mean["inside"] - others, 0)
    worked = np.asarray(computing / pace.rate[:, None], dtype=np.float32)
    with np.errstate(all="ignore"):
        beyond = worked - _least(worked)
    worked = worked - np.minimum(beyond, pace.unsure) + pace.starved[:, None]
    timed = mean["timed"]  # all that is not in collectives is own work
    computed = np.where(timed > 0, np.maximum(inside - timed, 0), np.minimum(worked, inside))
    own = np.stack([mean[_FIELDS[work]] for work in Work], axis=2)
    fed = np.zeros((len(wall), 1), dtype=np.float32)
    if exact is not None:
        fed[list(exact.workers), 0] = exact.input
    starving = np.minimum(pace.starving, inside - computed)  # for an element
    own[:, :, Work.INPUT] += fed * computed + starving
    own[:, :, Work.COMPUTE] += (1 - fed) * computed
    total = np.minimum(before + computed + starving, wall)
    rest = wall - total
    with np.errstate(all="ignore"):
        step = _median(wall)
        disturbed = np.nan_to_num(_greatest(mean["ours"])) > _DISTURBED * step
        transfer = _least(rest)
        wait = rest - transfer
        excess = _greatest(total) - _median(total)
    judged = ~disturbed & ~np.isnan(step) & (table.columns.step > _WARM_UP)
    wait[:, ~judged] = np.nan
    least = _LEAST_EXCESS * step
    named = judged & (excess > least) & (table.counted > 0).all(axis=0)
    culprit, blamed = _culprits(total, rest, named, least)
    inside = np.where(timed > 0, 0, computed + starving).astype(np.float32)
    return Shares(own, wait, transfer, culprit, blamed, judged, inside)


def _culprits(
    total: Floats, rest: Floats, named: npt.NDArray[np.bool_], least: Floats
) -> tuple[npt.NDArray[np.int32], Floats]:
    """The worker with the most own work, where it also waits least.

    The two differ where a worker was not run for a while after the collective: its step is longer
    than that of the others then, and nobody waited for anybody.
    """
    culprit = np.full(len(named), NOBODY, dtype=np.int32)
    blamed = np.zeros(len(named), dtype=np.float32)
    if len(total) < 2 or not named.any():
        return culprit, blamed
    at = np.flatnonzero(named)
    last = np.argmax(total[:, at], axis=0)
    chosen = np.arange(len(at))
    waits_least = rest[last, at] - rest[:, at].min(axis=0) <= least[at]
    ordered_work, ordered_rest = np.sort(total[:, at], axis=0), np.sort(rest[:, at], axis=0)
    beyond = ordered_work[-1] - np.median(ordered_work[:-1], axis=0)
    waited = np.median(ordered_rest[1:], axis=0) - ordered_rest[0]
    kept = chosen[waits_least]
    culprit[at[kept]] = last[kept]
    blamed[at[kept]] = np.minimum(beyond, waited)[kept]
    return culprit, blamed


def stragglers_of(shares: Shares, wall: Floats, count: Ints) -> tuple[int, ...]:
    """The workers that the others wait for, in the job as a whole.

    Noise makes everyone last now and then: a straggler costs a real share of the job, and several
    times what the others cost.
    """
    caused = caused_by(len(wall), shares.blamed, shares.culprit, count)
    if len(caused) < 2:
        return ()
    step = _median(wall)
    total = float(np.nansum(step[shares.judged] * count[shares.judged]))
    found = []
    least = LEAST_SHARE * max(total, 1e-9)
    for row in np.flatnonzero(caused >= least):
        others = np.delete(caused, row)
        longest = float((shares.blamed * count)[shares.culprit == row].max())
        is_repeated = caused[row] - longest >= _BESIDE_LONGEST * least
        stands_out = caused[row] >= _TIMES_OTHERS * float(np.median(others))
        if is_repeated and stands_out and _makes_steps_longer(shares, step, count, int(row)):
            found.append(int(row))
    return tuple(found)


def _makes_steps_longer(shares: Shares, step: Floats, count: Ints, row: int) -> bool:
    """Whether steps in which it is last are longer than those in which nobody is.

    Work that was measured needs no such proof: where workers share cores, one that is late leaves
    them to the others.
    """
    late = shares.judged & (shares.culprit == row)
    usual = shares.judged & (shares.culprit == NOBODY)
    weights = count[late]
    waited = np.average(shares.blamed[late], weights=weights)
    others = np.delete(shares.inside, row, axis=0)[:, late]
    estimated = np.average(shares.inside[row, late] - np.nanmedian(others, axis=0), weights=weights)
    if estimated < _SEEN_IN_STEPS * waited or count[usual].sum() < _KNOWN_STEPS:
        return True
    longer = np.average(step[late], weights=weights) - float(np.median(step[usual]))
    return bool(longer >= _SEEN_IN_STEPS * waited)


def replayed(
    wall: Floats, own: Floats, stragglers: Sequence[int], culprit: npt.NDArray[np.int32]
) -> Floats:
    """Each step again, as if one of the others were in the place of each straggler.

    `own`: rows x columns. Where a straggler was last, it does what another worker did in the step
    before: what that one did in the same step would let the two arrive together, and the step would
    lack the wait that workers of equal speed cause each other. The step then ends when the last of
    all arrives and transfers as before.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column that nobody has
        # All workers make the same steps, one a moment before the other: their middle. The lower
        # one of two would be too short by 2 to 4 % (measured).
        step = np.nanmedian(wall, axis=0).astype(np.float32)
    others = np.array([row for row in range(len(own)) if row not in set(stragglers)])
    late = np.flatnonzero(np.isin(culprit, stragglers))
    if not len(others) or not len(late):
        return step
    cut = own.copy()
    for number, row in enumerate(stragglers):
        instead = others[(late + number) % len(others)]
        cut[row, late] = np.fmin(own[row, late], own[instead, np.maximum(late - 1, 0)])
    gained = _greatest(own) - _greatest(cut)
    return np.asarray(np.maximum(step - np.nan_to_num(gained), 0), dtype=np.float32)


def _median(values: Floats) -> Floats:
    """The median over workers. Of an even number the lower one: half of a pair may be to blame."""
    ordered = np.sort(values, axis=0)  # NaN last
    known = np.maximum((~np.isnan(values)).sum(axis=0), 1)
    return np.asarray(np.take_along_axis(ordered, ((known - 1) // 2)[None, :], axis=0)[0])


def _least(values: Floats) -> Floats:
    return np.asarray(np.fmin.reduce(values, axis=0))


def _greatest(values: Floats) -> Floats:
    return np.asarray(np.fmax.reduce(values, axis=0))
