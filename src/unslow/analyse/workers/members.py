"""Who belongs to a job: roles, restarts, late joins, deaths, and those that left no recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unslow.analyse.workers.job import Clock, State, Worker
from unslow.facts.workers import WorkerIdentity
from unslow.model import Process, Run

TRAINS = ("chief", "worker")
# A worker that started this many seconds after the median one joined late: machines differ by
# seconds in how fast they start, and that is no finding.
LATE = 5.0
_SERVED = 10.0  # seconds: a server writes nothing while it has nothing to do
_ROLES = ("chief", "worker", "coordinator", "ps", "evaluator")


@dataclass(frozen=True)
class Member:
    """One recorded process of a job."""

    process: Process
    identity: WorkerIdentity
    records: np.ndarray


@dataclass(frozen=True)
class Members:
    """The processes of one job: those that train, the others, and what was odd."""

    training: tuple[Worker, ...]
    others: tuple[Worker, ...]
    size: int
    notes: tuple[str, ...]


def members_of(run: Run, found: Sequence[Member]) -> tuple[Members, list[np.ndarray]]:
    """Sort the recorded processes of a run into one job; the records of those that train."""
    notes: list[str] = []
    mine = _of_one_job(found, notes)
    training: list[Worker] = []
    records: list[np.ndarray] = []
    others: list[Worker] = []
    by_name: dict[tuple[str, int], list[Member]] = {}
    for member in mine:
        by_name.setdefault((member.identity.role, member.identity.index), []).append(member)
    for name in sorted(by_name, key=lambda name: (_rank(name[0]), name[1])):
        for worker, own in _same_name(run, by_name[name], notes):
            if worker.role in TRAINS:
                training.append(worker)
                records.append(own)
            else:
                others.append(worker)
    size = max((member.identity.size for member in mine), default=0)
    others += _missing(size, training)
    leader = next((worker for worker in others if worker.role == "coordinator"), None)
    if leader is not None:
        training = [_served(leader, worker) for worker in training]
        others = [_served(leader, worker) for worker in others]
    return Members(tuple(_marked_late(training)), tuple(others), size, tuple(notes)), records


def unread(run: Run) -> list[str]:
    """Why TF_CONFIG said nothing about some processes; the same reason is told once."""
    problems = [fact.problem for fact in run.facts(WorkerIdentity) if fact.problem]
    return [f"TF_CONFIG could not be read ({problem})" for problem in dict.fromkeys(problems)]


def _served(leader: Worker, worker: Worker) -> Worker:
    """A process of a job with a coordinator: it serves until somebody ends it."""
    outlived = worker.how == "killed" and worker.ended >= leader.ended - _SERVED
    if outlived and leader.state is State.WHOLE:
        return replace(worker, state=State.WHOLE)
    return worker


def _rank(role: str) -> int:
    return _ROLES.index(role) if role in _ROLES else len(_ROLES)


def _of_one_job(found: Sequence[Member], notes: list[str]) -> list[Member]:
    """The members of the job that most of them name; a folder may hold those of two."""
    jobs = Counter(member.identity.job for member in found)
    if len(jobs) < 2:
        return list(found)
    job = jobs.most_common(1)[0][0]
    strangers = [member for member in found if member.identity.job != job]
    shown = ", ".join(f"{one.identity.role} {one.identity.index}" for one in strangers[:3])
    verbs = ("belongs", "is") if len(strangers) == 1 else ("belong", "are")
    notes.append(
        f"{len(strangers)} of {len(found)} processes {verbs[0]} to another job and {verbs[1]} left "
        f"out: {shown}"
    )
    return [member for member in found if member.identity.job == job]


def _same_name(
    run: Run, members: Sequence[Member], notes: list[str]
) -> list[tuple[Worker, np.ndarray]]:
    """Processes of one identity: one after the other is a restart, two at once a mistake."""
    ordered = sorted(members, key=lambda member: member.process.started)
    name = f"{ordered[0].identity.role} {ordered[0].identity.index}"
    kept: list[Member] = []
    earlier: list[int] = []
    for member in ordered:
        if kept and member.process.started >= kept[-1].process.ended:
            earlier.append(kept.pop().process.index)
        kept.append(member)
    if len(kept) > 1:
        pids = " and ".join(str(member.process.pid) for member in kept)
        notes.append(f"{len(kept)} processes at once say that they are {name} (pids {pids})")
    return [(_worker(run, member, tuple(earlier)), member.records) for member in kept]


def _worker(run: Run, member: Member, earlier: tuple[int, ...]) -> Worker:
    process, identity = member.process, member.identity
    restarted = bool(earlier or identity.attempt)
    origin = run.origins.get(process.index)
    return Worker(
        role=identity.role,
        index=identity.index,
        process=process.index,
        host=process.host,
        pid=process.pid,
        source=identity.source,
        started=process.started,
        ended=process.ended,
        state=State.RESTARTED if restarted else _state(run, process),
        how=process.how,
        first_step=int(member.records["step"][0]) if len(member.records) else 0,
        last_step=int(member.records["step"][-1]) if len(member.records) else 0,
        clock=origin.clock if origin is not None else Clock(),
        earlier=earlier,
    )


def _state(run: Run, process: Process) -> State:
    if process.how == "killed":
        return State.RUNNING if run.ended == "running" else State.DIED
    return State.WHOLE if process.how in ("exit", "detached") else State.DIED


def _marked_late(training: Sequence[Worker]) -> Iterator[Worker]:
    """The same, with those marked that started much later than most."""
    starts = sorted(worker.started for worker in training)
    usual = starts[(len(starts) - 1) // 2] if starts else 0.0
    for worker in training:
        is_late = worker.state is State.WHOLE and worker.started > usual + LATE
        yield replace(worker, state=State.LATE) if is_late else worker


def _missing(size: int, training: Sequence[Worker]) -> list[Worker]:
    """Those that the cluster names and that left no recording."""
    known = {worker.index for worker in training if worker.role == "worker"}
    chiefs = sum(worker.role == "chief" for worker in training)
    absent = [index for index in range(max(0, size - chiefs)) if index not in known]
    if not size or not training or len(training) >= size or not absent:
        return []
    return [Worker("worker", index, state=State.MISSING) for index in absent]
