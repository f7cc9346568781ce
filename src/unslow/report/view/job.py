"""A job of many workers for a report: who waits for whom, the worst beside the typical."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unslow.analyse.stats.robust import ratio
from unslow.analyse.workers.job import Job, State, Work, Worker
from unslow.report.words import Row

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BINS = 96  # of time in a heat map: more than a terminal has columns, fewer than a screen
ROWS = 48  # of a heat map: every worker has its own up to here
APART = 8  # workers with a row of their own in larger jobs: those that others wait for most
LABELS = {
    Work.INPUT: "input",
    Work.COMPUTE: "TensorFlow computes",
    Work.PYTHON: "your own Python",
    Work.SAVE: "saving and logs",
    Work.EVALUATE: "evaluation, callbacks",
    Work.COLLECTOR: "garbage collection",
    Work.BUILD: "tracing and building",
}
COLOURS = {
    Work.INPUT: "input",
    Work.COMPUTE: "run",
    Work.PYTHON: "other",
    Work.SAVE: "save",
    Work.EVALUATE: "eval",
    Work.COLLECTOR: "gc",
    Work.BUILD: "trace",
}
LEAST_PART = 0.005  # of a step: a smaller part is no bar


def job_view(job: Job | None) -> Row | None:
    """Everything a report says about a job; None for a program of one process."""
    if job is None:
        return None
    totals = _Totals.of(job)
    worst, typical = _pair(job, totals)
    return {
        "strategy": job.strategy,
        "size": max(job.size, len(job.workers)),
        "recorded": len(job.workers),
        "steps": job.steps,
        "step_seconds": job.measured_step if job.steps else 0.0,
        "ideal_step_seconds": job.ideal_step if job.steps else 0.0,
        "clock_error_seconds": max((each.clock.error for each in job.workers), default=0.0),
        "workers": _table(job, totals),
        "others": [_identity(worker) for worker in job.others],
        "pair": [_side(job, totals, row) for row in (worst, typical) if row is not None],
        "shown": [job.workers[row].process for row in (worst, typical) if row is not None],
        "heat": _heat(job, totals),
        "notes": list(job.notes),
    }


@dataclass(frozen=True)
class _Totals:
    """Per worker, over those of its steps that have an account."""

    steps: Ints
    recorded: Ints  # steps with or without an account
    wall: Floats  # seconds
    wait: Floats
    own: Floats  # rows x len(Work)
    transfer: Floats
    caused: Floats
    last: Ints  # steps in which it was the last one to arrive

    @classmethod
    def of(cls, job: Job) -> _Totals:
        recorded = ~np.isnan(job.wall)
        known = recorded & job.judged if job.judged.any() else recorded
        last = np.zeros(len(job.workers), dtype=np.int64)
        named = job.culprit >= 0
        np.add.at(last, job.culprit[named], job.count[named])
        transfer = np.nan_to_num(job.transfer) * job.count
        count = known * job.count
        return cls(
            steps=count.sum(axis=1),
            recorded=(recorded * job.count).sum(axis=1),
            wall=_summed(job.wall, count),
            wait=job.total_wait,
            own=np.stack(
                [_summed(job.own[:, :, work], known * job.count) for work in Work], axis=1
            ),
            transfer=np.asarray((known * transfer).sum(axis=1), dtype=np.float64),
            caused=job.caused,
            last=last,
        )

    def per_step(self, values: Floats) -> Floats:
        """Sums as means; rows without steps are zero."""
        steps = np.maximum(self.steps, 1).astype(np.float64)
        divided: Floats = values / (steps[:, None] if values.ndim > 1 else steps)
        return divided


def _summed(values: npt.NDArray[np.float32], count: Ints) -> Floats:
    """Means per step of all columns as sums, one kind of work at a time: they are large."""
    summed: Floats = np.nansum(values * count, axis=1, dtype=np.float64)
    return summed


def _pair(job: Job, totals: _Totals) -> tuple[int | None, int | None]:
    """Rows of the worker that others wait for most, and of the one in the middle."""
    if len(job.workers) < 2 or not job.steps:
        return None, None
    own = totals.per_step(totals.own).sum(axis=1)
    blamed = totals.caused if totals.caused.max() > 0 else own
    worst = int(np.argmax(blamed))
    order = [int(row) for row in np.argsort(own, kind="stable") if row != worst]
    return worst, order[len(order) // 2]


def _table(job: Job, totals: _Totals) -> list[Row]:
    """One row per worker, those that others wait for most first."""
    own = totals.per_step(totals.own)
    typical = np.sort(own, axis=0)[(len(own) - 1) // 2] if len(own) else own
    order = np.lexsort((-own.sum(axis=1), -totals.caused))
    return [_row(job, totals, int(row), own[row] - typical) for row in order]


def _row(job: Job, totals: _Totals, row: int, excess: Floats) -> Row:
    worker = job.workers[row]
    steps = max(1, int(totals.steps[row]))
    wall = float(totals.wall[row])
    recorded = int(totals.recorded[row])
    most = Work(int(np.argmax(excess)))
    return {
        **_identity(worker),
        "steps": recorded,
        "step_seconds": wall / steps,
        "own_seconds": float(totals.own[row].sum()) / steps,
        "wait_seconds": float(totals.wait[row]) / steps,
        "wait_share": ratio(float(totals.wait[row]), wall),
        "caused_seconds": float(totals.caused[row]),
        "last_share": int(totals.last[row]) / max(1, recorded),
        "excess": LABELS[most],
        "excess_seconds": max(0.0, float(excess[most])),
    }


def _identity(worker: Worker) -> Row:
    return {
        "name": worker.name,
        "process": worker.process,
        "host": worker.host,
        "pid": worker.pid,
        "state": worker.state.value,
        "whole": worker.state is State.WHOLE,
        "how": worker.how,
        "first_step": worker.first_step,
        "last_step": worker.last_step,
    }


def _side(job: Job, totals: _Totals, row: int) -> Row:
    """One worker's usual step, cut into its own work, its wait and the transfer."""
    steps = max(1, int(totals.steps[row]))
    wall = float(totals.wall[row]) / steps
    parts = [(LABELS[work], COLOURS[work], float(totals.own[row, work]) / steps) for work in Work]
    parts.append(("waits for others", "sync", float(totals.wait[row]) / steps))
    parts.append(("transfer", "hooks", float(totals.transfer[row]) / steps))
    bars = [
        {"label": label, "colour": colour, "seconds": seconds, "share": seconds / wall}
        for label, colour, seconds in parts
        if wall > 0 and seconds >= LEAST_PART * wall
    ]
    return {**_identity(job.workers[row]), "step_seconds": wall, "bars": bars}


def _heat(job: Job, totals: _Totals) -> Row | None:
    """Which share of its steps each worker waits for others, over time."""
    if len(job.workers) < 2 or len(job.end) < 2:
        return None
    starts = _bins(job.end)
    judged = np.where(np.isnan(job.wait), np.nan, job.wall)  # some steps have no account
    wall = np.add.reduceat(np.nan_to_num(judged) * job.count, starts, axis=1)
    wait = np.add.reduceat(np.nan_to_num(job.wait) * job.count, starts, axis=1)
    share = np.where(wall > 0, wait / np.maximum(wall, 1e-12), np.nan)
    labels, groups = _rows(job, totals)
    values = [_grouped(share[group]) for group in groups]
    last = np.append(starts[1:], len(job.end)) - 1
    row_of = {worker: row for row, group in enumerate(groups) for worker in group}
    culprits = [_culprit(job, begin, end + 1) for begin, end in zip(starts, last, strict=True)]
    rows = [None if culprit is None else row_of[culprit] for culprit in culprits]
    return {
        "labels": labels,
        "until_seconds": [round(float(job.end[at]), 3) for at in last],
        "until_step": [int(job.step[at]) for at in last],
        "wait_share": values,
        "last": rows,
    }


def _bins(end: Floats) -> Ints:
    """Where each stretch of about equal time begins."""
    span = float(end[-1] - end[0]) or 1.0
    of = np.minimum((end - end[0]) / span * BINS, BINS - 1).astype(np.int64)
    starts: Ints = np.flatnonzero(np.diff(of, prepend=-1))
    return starts


def _rows(job: Job, totals: _Totals) -> tuple[list[str], list[list[int]]]:
    """Workers by row: each alone, or in large jobs the worst alone and the others in groups."""
    count = len(job.workers)
    if count <= ROWS:
        return [worker.name for worker in job.workers], [[row] for row in range(count)]
    alone = [int(row) for row in np.argsort(-totals.caused, kind="stable")[:APART]]
    alone = sorted(row for row in alone if totals.caused[row] > 0)
    rest = [row for row in range(count) if row not in alone]
    groups = [part.tolist() for part in np.array_split(np.array(rest), ROWS - len(alone))]
    names = [job.workers[row].name for row in alone]
    names += [_span(job, part) for part in groups]
    return names, [*([row] for row in alone), *groups]


def _span(job: Job, rows: list[int]) -> str:
    first, last = job.workers[rows[0]], job.workers[rows[-1]]
    return first.name if first is last else f"{first.name}–{last.index}"


def _grouped(shares: Floats) -> list[float | None]:
    """The median of a group, rounded: a color has no more digits."""
    if len(shares) == 1:
        row = shares[0]
    else:
        known = ~np.isnan(shares).all(axis=0)
        row = np.full(shares.shape[1], np.nan)
        row[known] = np.nanmedian(shares[:, known], axis=0)
    return [None if np.isnan(value) else round(float(value), 3) for value in row]


def _culprit(job: Job, begin: int, end: int) -> int | None:
    """Who was last in most steps of a stretch."""
    named = job.culprit[begin:end]
    counts = job.count[begin:end][named >= 0]
    if not len(counts):
        return None
    steps = np.bincount(named[named >= 0], weights=counts)
    return int(np.argmax(steps))
