"""From a run to its job: members, aligned steps, exact times, and the account."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from unslow.analyse.input import run_pipelines
from unslow.analyse.workers.collectives import collectives_of
from unslow.analyse.workers.job import Exact, Floats, Job, RemoteWorker
from unslow.analyse.workers.members import Member, Members, members_of
from unslow.analyse.workers.records import records_of
from unslow.analyse.workers.starvation import starvation_of
from unslow.analyse.workers.step_account import (
    Table,
    pace_of,
    replayed,
    shares_of,
    stragglers_of,
    table_of,
)
from unslow.analyse.workers.windows import exact_of
from unslow.facts.process import Tick
from unslow.facts.stored_text import StoredText
from unslow.facts.workers import (
    Collective,
    RemoteWork,
    SharedWindow,
    StrategyMade,
    SyncBlock,
    WorkerIdentity,
)
from unslow.model import Run

READS = (
    WorkerIdentity,
    SyncBlock,
    StrategyMade,
    Collective,
    RemoteWork,
    SharedWindow,
    Tick,
    *run_pipelines.READS,
)
_MOST_JOBS = 4
_JOBS: dict[int, tuple[weakref.ref[Run], Job | None]] = {}  # by the id of the run


def job_of(run: Run) -> Job | None:
    """The job that a run's processes are parts of; None for a program without one."""
    held = _JOBS.get(id(run))
    if held is not None and held[0]() is run:
        return held[1]
    job = _job_of(run)
    if len(_JOBS) >= _MOST_JOBS:
        _JOBS.clear()
    _JOBS[id(run)] = (weakref.ref(run), job)
    return job


def _job_of(run: Run) -> Job | None:
    members, table = _recorded(run)
    if len(members.training) + len(members.others) < 2 and members.size < 2:
        return None
    job = _account(run, members, table)
    return replace(
        job,
        collectives=collectives_of(run, job),
        strategy=next((made.name for made in run.facts(StrategyMade)), ""),
        remote=tuple(_remote(run)),
    )


def _recorded(run: Run) -> tuple[Members, Table]:
    """Who belongs to the job, and the steps of those that train.

    The records go no further: those of 1,000 workers take as much memory as the table.
    """
    members, records = members_of(run, list(_members(run)))
    return members, table_of(aligned(records))


def _members(run: Run) -> Iterable[Member]:
    identities = {fact.process: fact for fact in run.facts(WorkerIdentity)}  # the last one counts
    blocks: dict[int, list[str | StoredText]] = {}
    for block in run.facts(SyncBlock):
        blocks.setdefault(block.process, []).append(block.data)
    for process in run.processes:
        identity = identities.get(process.index)
        if identity is not None:
            records = records_of(blocks.get(process.index, ()), run.origins.get(process.index))
            yield Member(process, identity, records)


def _account(run: Run, members: Members, table: Table) -> Job:
    workers = members.training
    exact: Exact | None = None
    busy: Mapping[int, float] = {}
    starving: Floats | None = None
    recorder: Floats | None = None
    if len(workers) > 1:
        processes = [worker.process for worker in workers]
        exact, busy = exact_of(run, processes, table)
        starving = starvation_of(run, processes, table)
        recorder = _recorder(run, processes, table)
    shares = shares_of(table, pace_of(table, busy, starving, recorder), exact)
    own = shares.own.sum(axis=2)
    stragglers = stragglers_of(shares, table.mean["wall"], table.columns.count)
    return Job(
        workers=workers,
        step=table.columns.step,
        count=table.columns.count,
        end=_ends(table),
        wall=table.mean["wall"],
        own=shares.own,
        wait=shares.wait,
        transfer=shares.transfer,
        culprit=shares.culprit,
        blamed=shares.blamed,
        ideal=replayed(table.mean["wall"], own, stragglers, shares.culprit),
        elements=table.mean["elements"],
        delay=table.mean["delay"],
        cpu=table.mean["inside"] + table.mean["outside"],
        between=table.mean["compute"],
        judged=shares.judged,
        exact=exact,
        others=members.others,
        size=members.size or len(workers),
        notes=members.notes,
        stragglers=stragglers,
        per_step=float(np.nanmedian(table.mean["collectives"])) if table.counted.any() else 0.0,
    )


def _recorder(run: Run, processes: Sequence[int], table: Table) -> Floats:
    """Rows x columns: processor seconds of a step that the recorder's own thread took."""
    found = np.zeros(table.end.shape, dtype=np.float32)
    for row, process in enumerate(processes):
        ticks = [tick for tick in run.facts(Tick, process) if tick.watcher]
        if not ticks:
            continue
        spent = [tick.own_cpu * 1e-9 for tick in ticks]
        until = np.interp(table.end[row], [tick.time for tick in ticks], spent)
        found[row] = np.diff(until, prepend=until[0]) / table.columns.count
    return np.nan_to_num(found)


def aligned(records: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Records with the numbers of the job's steps, where a worker counts from another one.

    The key of a collective is shared: two workers that end a step with the same key ended the same
    step, whatever number each gives it.
    """
    known = [one for one in records if len(one) and (one["key"] >= 0).any()]
    if len(known) < 2:
        return list(records)
    reference = max(known, key=len)
    return [_shifted(one, reference) for one in records]


def _shifted(records: np.ndarray, reference: np.ndarray) -> np.ndarray:
    keys = records["key"]
    _, mine, theirs = np.intersect1d(keys, reference["key"], return_indices=True)
    named = keys[mine] >= 0
    if not named.any():
        return records
    apart = reference["step"][theirs].astype(np.int64) - records["step"][mine].astype(np.int64)
    shift = int(np.median(apart[named]))
    if shift <= 0:
        return records
    moved: np.ndarray = records.copy()
    moved["step"] += shift
    return moved


def _ends(table: Table) -> np.ndarray:
    """When each column ended: the median worker's time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column that nobody has
        return np.nanmedian(table.end, axis=0)


def _remote(run: Run) -> Iterable[RemoteWorker]:
    """What a coordinator says of its workers; the last of the running totals is the whole."""
    last = {fact.worker: fact for fact in run.facts(RemoteWork)}
    for index, fact in sorted(last.items()):
        yield RemoteWorker(index, fact.count, fact.busy, fact.longest)
