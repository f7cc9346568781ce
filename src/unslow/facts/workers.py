"""Facts about a job of many processes: who each one is, what they exchange, and each step."""

from __future__ import annotations

import struct

from unslow.facts.schema import Duration, Fact, Stack, Tally, Thinned
from unslow.facts.stored_text import StoredText


class WorkerIdentity(Fact, probe="distribute", kind="worker"):
    """Which part of a job this process is; a process that is no part of one has no such fact."""

    role: str = "worker"  # chief, worker, evaluator, ps or coordinator
    index: int = 0
    size: int = 0  # processes of the job that train (chief and workers); 0 where nobody says
    source: str = ""  # where this is known from: TF_CONFIG, Slurm, Kubernetes, MPI or Ray
    job: str = ""  # the same in all processes of a job: a digest of the cluster, or the job's id
    attempt: int = 0  # restarts of this worker before, as the engine counts them
    problem: str = ""  # why TF_CONFIG could not be used


class StrategyMade(Fact, probe="distribute", kind="strategy"):
    """The program made a distribution strategy."""

    name: str  # MirroredStrategy, MultiWorkerMirroredStrategy, ParameterServerStrategyV2 …
    replicas: int = 1  # in sync, of all processes
    local: int = 1  # of them in this process
    stack: Stack = ()


class Collective(Thinned, probe="distribute", kind="collective"):
    """A collective was put into a graph, or run eagerly; counted by line, kind and size.

    In a graph, `n` counts how often it was built, in an eager program how often it ran.
    """

    what: str  # all_reduce or all_gather
    bytes: int = 0  # of this process's share; 0 where the shape is not known
    tensors: int = 1  # that were packed into it
    sparse: bool = False  # a part of gathered IndexedSlices
    eager: bool = False
    within: str = ""  # input: "has anyone data?" before an element; reduce: a value for the program
    group: int = 0  # processes or devices that take part
    stack: Stack = ()


class EagerReduce(Tally, probe="distribute"):
    """The program waited for a value of all workers, outside of any graph."""

    within: str = ""  # as of Collective


class RemoteFetch(Tally, probe="coordinator"):
    """The coordinator waited for a value that a worker computed."""


class RemoteWork(Fact, probe="coordinator"):
    """Running totals of what a worker of a coordinator has done so far."""

    worker: int
    count: int = 0  # closures
    busy: Duration = 0.0  # in them
    longest: Duration = 0.0


class SyncBlock(Fact, probe="distribute", kind="worker_steps"):
    """Steps of a worker, as records of `SYNC` in base64, in the order of the steps."""

    data: str | StoredText
    records: int = 0


class SharedWindow(Fact, probe="window"):
    """TensorFlow's profiler recorded a few steps, the same ones on every worker of the job."""

    file: str  # a Trace of the profiler's, below the run folder
    step: int = 0  # steps before it
    steps: int = 0
    spent: Duration = 0.0  # closing it


# A record of one step, or of several in long runs. Which steps share a record depends on their
# number alone (`width_at`), so the records of all workers line up. Sums over its steps, in seconds.
SYNC_FIELDS = (
    ("end", "q"),  # clock (ns) at which its last step ended
    ("key", "q"),  # instance key of its last collective: the same on every worker; -1 for none
    ("step", "I"),  # number of its last step, counted from 1
    ("count", "I"),  # steps
    ("wall", "f"),
    ("before", "f"),  # from the end of the step before to the first collective's launch
    ("inside", "f"),  # processor time of the process after that launch
    ("outside", "f"),  # processor time before it
    # Before the launch, by what the training thread did:
    ("input", "f"),
    ("compute", "f"),  # TensorFlow ran, values were fetched
    ("python", "f"),
    ("save", "f"),  # checkpoints, summaries, logs
    ("evaluate", "f"),  # validation, callbacks
    ("collector", "f"),  # garbage collection
    ("build", "f"),  # tracing and building
    ("elements", "f"),  # numbers in the batches
    ("collectives", "f"),
    ("delay", "f"),  # threads of the process that could run waited for a processor
    ("ours", "f"),  # inspections, and waits for the end of an iterator: not in `wall`
    ("network", "f"),  # processor time of threads that only move data between workers
    ("timed", "f"),  # in collectives, of steps that run all of theirs eagerly; else 0
)
SYNC = struct.Struct("<" + "".join(form for _, form in SYNC_FIELDS))

FULL_RECORDS = 1024  # steps with a record each; later ones share
RECORDS_PER_WIDTH = 512  # records of 2 steps, then of 4, of 8 …: 100,000 steps make 4,500 records


def width_at(step: int) -> int:
    """How many steps the record that holds a step (counted from 1) spans."""
    past = step - 1 - FULL_RECORDS
    if past < 0:
        return 1
    return 2 << ((past // (2 * RECORDS_PER_WIDTH) + 1).bit_length() - 1)


def closes_at(step: int) -> bool:
    """Whether the record that holds this step ends with it."""
    past = step - 1 - FULL_RECORDS
    if past < 0:
        return True
    width = width_at(step)
    first = RECORDS_PER_WIDTH * (width - 2)  # where records of this width begin
    return (past - first) % width == width - 1
