"""Writes the recording of a simulated job: what its processes would have written, step by step.

Every worker prepares a batch, runs Python and computes; a collective ends when the last one has
arrived and the data has been sent. Noise is drawn per step and worker, and what is written is added
up as the recorder adds it up, so that a mean of many steps hides what it hides in a real recording.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from unslow.facts.codec import encode
from unslow.facts.machine import Machine
from unslow.facts.process import End, Imported, ProcessStart, Site, Tick
from unslow.facts.schema import Fact, Place
from unslow.facts.workers import (
    SYNC,
    SYNC_FIELDS,
    Collective,
    StrategyMade,
    SyncBlock,
    WorkerIdentity,
    closes_at,
)
from unslow.model import Phase
from unslow.runfolder import layout
from unslow.runfolder.steplog import FIELDS

Floats = npt.NDArray[np.float32]

SECOND = 1e9
BATCH = 32 * 1024.0  # numbers in a batch
# Seconds of a healthy step; a data-parallel training of a middling model on 16 cores.
INPUT, PYTHON, COMPUTE, TRANSFER = 0.002, 0.003, 0.080, 0.010
NOISE = 0.03  # relative, of each worker's work in each step
FIRST_STEP = 8.0  # seconds: tracing
EVALUATION = 2.0  # seconds on the chief, in healthy jobs too
BLOCK = 128  # records
CHUNK = 2048  # steps that are simulated at once
TICKS = 64
BOOT = 1_000_000_000_000  # the clock of a machine when the job begins
STARTED = 1_790_000_000.0  # seconds since the epoch
MEMORY = 64 << 30

_FORMS = {"I": "<u4", "q": "<i8", "f": "<f4"}
_DTYPE = np.dtype([(name, _FORMS[form]) for name, form in SYNC_FIELDS])
assert _DTYPE.itemsize == SYNC.size


_FIELD = {"input": "input", "own Python": "python"}  # reasons that are a field of a record


@dataclass(frozen=True)
class Fault:
    """What is wrong with one worker, from a step on."""

    reason: str  # as a diagnosis should name it; "" where nothing is wrong
    worker: int = -1
    since: int = 0  # step
    extra: float = 0.0  # seconds per step


@dataclass(frozen=True)
class Simulated:
    """One job."""

    workers: int
    steps: int
    fault: Fault = field(default_factory=lambda: Fault(""))
    seed: int = 0
    transfer: float = TRANSFER
    evaluates: int = 0  # steps between evaluations of the chief
    clocks: float = 0.0  # seconds by which the clocks of machines may differ


@dataclass
class Chunk:
    """Some steps of all workers, in seconds: rows are workers."""

    parts: dict[str, Floats]  # by field of a record
    cpu: Floats  # while the step runs
    wall: Floats  # columns: the same on every worker


def columns(steps: int) -> npt.NDArray[np.int64]:
    """The last step of each record."""
    return np.array([n for n in range(1, steps + 1) if closes_at(n) or n == steps])


def simulated(job: Simulated) -> Iterator[tuple[int, Chunk]]:
    """The job in chunks of steps, each with the number of steps before it."""
    random = np.random.default_rng(job.seed)
    for begin in range(0, job.steps, CHUNK):
        count = min(CHUNK, job.steps - begin)
        yield begin, _chunk(job, random, begin, count)


def _chunk(job: Simulated, random: np.random.Generator, begin: int, count: int) -> Chunk:
    shape = (job.workers, count)

    def noisy(seconds: float) -> Floats:
        noise = random.standard_normal(shape, dtype=np.float32)
        return np.asarray(seconds * np.exp(NOISE * noise), dtype=np.float32)

    parts = {"input": noisy(INPUT), "python": noisy(PYTHON)}
    parts |= {
        name: np.zeros(shape, np.float32) for name in ("evaluate", "collector", "build", "delay")
    }
    parts["elements"] = np.full(shape, BATCH, np.float32)
    cpu = noisy(COMPUTE)
    if begin == 0:
        parts["build"][:, 0] = FIRST_STEP * random.uniform(0.95, 1.05, job.workers)
    if job.evaluates:
        at = np.arange(begin + 1, begin + count + 1) % job.evaluates == 0
        parts["evaluate"][0, at] = EVALUATION
    _break(job.fault, random, begin, parts, cpu)
    before = parts["input"] + parts["python"] + parts["evaluate"] + parts["collector"]
    before += parts["build"]
    arrival = before + cpu + parts["delay"]
    transfer = job.transfer * np.exp(NOISE * random.standard_normal(count, dtype=np.float32))
    parts["before"] = before
    return Chunk(parts, cpu, (arrival.max(axis=0) + transfer).astype(np.float32))


def _break(
    fault: Fault, random: np.random.Generator, begin: int, parts: dict[str, Floats], cpu: Floats
) -> None:
    """Give one worker its fault."""
    if not fault.reason:
        return
    count = cpu.shape[1]
    since = max(0, fault.since - begin)
    if since >= count:
        return
    extra = fault.extra * random.lognormal(0.0, 0.2, count - since).astype(np.float32)
    worker = fault.worker
    if fault.reason in _FIELD:
        parts[_FIELD[fault.reason]][worker, since:] += extra
    elif fault.reason == "longer batches":
        parts["elements"][worker, since:] *= 1 + fault.extra / COMPUTE
        cpu[worker, since:] += extra
    elif fault.reason == "machine":
        parts["delay"][worker, since:] += extra
    elif fault.reason == "garbage collection":
        every = np.arange(begin + since, begin + count) % 10 == 0
        parts["collector"][worker, since:] += np.where(every, 10 * extra, 0.0)
    else:
        raise ValueError(fault.reason)


@dataclass
class Records:
    """All records of a job: sums over the steps of each."""

    last: npt.NDArray[np.int64]  # columns
    count: npt.NDArray[np.int64]
    fields: dict[str, Floats]  # rows are workers
    cpu: Floats
    wall: npt.NDArray[np.float64]  # columns
    end: npt.NDArray[np.float64]  # columns: seconds since the job began
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]


def recorded(job: Simulated) -> Records:
    """The whole job, added up as the recorder does."""
    last = columns(job.steps)
    count = np.diff(last, prepend=0)
    names = ("input", "python", "evaluate", "collector", "build", "delay", "elements", "before")
    shape = (job.workers, len(last))
    fields = {name: np.zeros(shape, np.float32) for name in names}
    cpu = np.zeros(shape, np.float32)
    walls = []
    for begin, chunk in simulated(job):
        # Which record each step of the chunk belongs to, and where records begin in it.
        of = np.searchsorted(last, np.arange(begin + 1, begin + chunk.cpu.shape[1] + 1))
        starts = np.flatnonzero(np.diff(of, prepend=-1))
        into = of[starts]
        for name in names:
            fields[name][:, into] += np.add.reduceat(chunk.parts[name], starts, axis=1)
        cpu[:, into] += np.add.reduceat(chunk.cpu, starts, axis=1)
        walls.append(chunk.wall.astype(np.float64))
    wall = np.concatenate(walls)
    starts = np.concatenate(([0], last[:-1]))
    end = np.cumsum(wall)[last - 1]
    return Records(
        last,
        count,
        fields,
        cpu,
        np.add.reduceat(wall, starts),
        end,
        np.minimum.reduceat(wall, starts),
        np.maximum.reduceat(wall, starts),
    )


def write(job: Simulated, folder: Path) -> None:
    """A run folder as the processes of the job would have left it."""
    folder.mkdir(parents=True, exist_ok=True)
    records = recorded(job)
    seconds = float(records.end[-1])
    header = {
        "unslow": "0.1.0",
        "command": [sys.executable, "train.py"],
        "cwd": "/home/user",
        "started": STARTED,
        "ended": "exit 0",
        "code": 0,
        "seconds": seconds,
    }
    layout.write_header(str(folder), header)
    random = np.random.default_rng(job.seed + 1)
    offsets = random.uniform(-job.clocks, job.clocks, job.workers)
    for worker in range(job.workers):
        boot = BOOT + int(offsets[worker] * SECOND)
        name = f"host{worker:05d}-{1000 + worker}"
        (folder / f"{name}.events").write_text(_events(job, records, worker, boot))
        (folder / f"{name}.steps").write_bytes(_rows(records, worker, boot).tobytes())


def _sync(records: Records, worker: int, boot: int) -> Any:
    found = np.zeros(len(records.last), dtype=_DTYPE)
    found["end"] = boot + (records.end * SECOND).astype(np.int64)
    found["key"] = records.last
    found["step"] = records.last
    found["count"] = records.count
    found["wall"] = records.wall
    found["inside"] = records.cpu[worker]
    found["outside"] = records.fields["before"][worker]
    found["collectives"] = records.count
    for name, values in records.fields.items():
        found[name] = values[worker]
    return found


def _rows(records: Records, worker: int, boot: int) -> Any:
    rows = np.zeros(len(records.last), dtype=FIELDS)
    rows["end"] = boot + (records.end * SECOND).astype(np.int64)
    total = (records.wall * SECOND).astype(np.int64)
    rows["total"], rows["count"], rows["site"], rows["group"] = total, records.count, 0, 1
    single = records.count == 1
    rows["low"] = np.where(single, total, records.low * SECOND)
    rows["high"] = np.where(single, total, records.high * SECOND)
    rows["elements"] = records.fields["elements"][worker]
    rows["value"] = np.nan
    places = {
        "input": Phase.INPUT,
        "evaluate": Phase.EVAL,
        "collector": Phase.GC,
        "build": Phase.TRACE,
        "python": Phase.OTHER,
    }
    known = np.zeros(len(rows), np.int64)
    for name, phase in places.items():
        spent = (records.fields[name][worker] * SECOND).astype(np.int64)
        spent = np.minimum(spent, total - known)
        rows["phases"][:, phase] = spent
        known += spent
    rows["phases"][:, Phase.RUN] = total - known
    return rows


def _events(job: Simulated, records: Records, worker: int, boot: int) -> str:
    line = Place("/home/user/train.py", 41, "train")
    cluster = {"worker": [f"host{n:05d}:2222" for n in range(min(job.workers, 2))]}
    config = {"cluster": cluster, "task": {"type": "worker", "index": worker}}
    start = ProcessStart(
        pid=1000 + worker,
        host=f"host{worker:05d}",
        argv=("train.py",),
        python="3.11.7",
        wall_at=int(STARTED * SECOND),
        clock_at=boot,
        cluster=json.dumps(config),
        cwd="/home/user",
    )
    identity = WorkerIdentity(index=worker, size=job.workers, source="TF_CONFIG", job="simulated")
    head: list[Fact] = [
        start,
        Imported(since=boot, tensorflow="2.21.0", keras="3.15.1"),
        Machine(cores=16, affinity=16, memory_bytes=MEMORY),
        identity,
        StrategyMade(name="CollectiveAllReduceStrategy", replicas=job.workers),
        Site(id=0, style="function", name="step", stack=(line,), loop=(0, 40, 44)),
        Collective(what="all_reduce", bytes=4 << 20, tensors=8, group=job.workers, stack=(line,)),
    ]
    lines = [encode(fact, boot) for fact in head]
    sync = _sync(records, worker, boot)
    for begin in range(0, len(sync), BLOCK):
        block = sync[begin : begin + BLOCK]
        data = base64.b64encode(block.tobytes()).decode("ascii")
        lines.append(encode(SyncBlock(data=data, records=len(block)), int(block["end"][-1])))
    lines += _ticks(job, records, worker, boot)
    probes = dict.fromkeys(("functions", "distribute", "input", "gc"), "armed")
    lines.append(encode(End(how="exit", probes=probes), int(sync["end"][-1])))
    return "\n".join(lines) + "\n"


def _ticks(job: Simulated, records: Records, worker: int, boot: int) -> list[str]:
    at = np.unique(np.linspace(0, len(records.end) - 1, TICKS).astype(int))
    cpu = np.cumsum(records.cpu[worker].astype(np.float64))
    delay = np.cumsum(records.fields["delay"][worker].astype(np.float64))
    lines = []
    for column in at.tolist():
        tick = Tick(
            steps=float(records.last[column]),
            watcher=True,
            rss=4e9,
            minor_faults=1e4,
            major_faults=0.0,
            user_cpu=float(cpu[column]),
            system_cpu=0.0,
            threads=40.0,
            available=4e10,
            waited=float(delay[column]),
            ran=float(cpu[column]),
        )
        lines.append(encode(tick, boot + int(records.end[column] * SECOND)))
    return lines
