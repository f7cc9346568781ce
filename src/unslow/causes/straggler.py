"""The other workers of a job wait for one of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.sketches.jobs import Hand, JobSketch
from unslow.analyse.stretches import SETUP
from unslow.analyse.workers.assemble import READS, job_of
from unslow.analyse.workers.job import Job, State, Work, names
from unslow.analyse.workers.persistence import is_persistent
from unslow.analyse.workers.reasons import Reason, Why, reason_of
from unslow.cause import Cause
from unslow.model import Certainty, Evidence, Finding, Run

_MOST_STEPS = 0.5  # a worker that is last in fewer is late occasionally

_ADVICE = {
    Why.INPUT: "Give every worker the same input: shard by element rather than by file, or make "
    "this worker's pipeline as fast as the others' (its storage, its maps).",
    Why.PYTHON: "Take this work out of the step, or do it on a worker that the others do not "
    "wait for.",
    Why.BATCHES: "Give every worker batches of the same size: pad or bucket by length across "
    "workers, and drop the remainder.",
    Why.COMPUTE: "Its steps compute more than the others': compare its batches and its model "
    "with theirs.",
    Why.MEMORY: "Find out what holds its memory: `unslow why` names the container and the line.",
    Why.COLLECTOR: "Its garbage collector runs in the steps: keep fewer Python objects there, or "
    "call `gc.freeze()` before the loop.",
    Why.MACHINE: "Its processor is used by others: move it to another machine, or stop what runs "
    "beside it.",
    Why.SAVE: "Save less often, or asynchronously: all workers wait for the one that writes.",
    Why.EVALUATE: "Evaluate less often, on all workers together, or in a job of its own "
    "(an `evaluator` task); keep callbacks short.",
    Why.BUILD: "It traces in the steps: give its inputs the same shapes as the others have.",
    Why.UNKNOWN: "Its own phases do not show why: look at its host (disk, network, clock "
    "frequency), and compare it with another run.",
}
_WORDS = {
    Why.INPUT: "its input",
    Why.PYTHON: "its own Python",
    Why.BATCHES: "its longer batches",
    Why.COMPUTE: "its longer computing",
    Why.MEMORY: "its growing memory",
    Why.COLLECTOR: "its garbage collection",
    Why.MACHINE: "a processor that others use",
    Why.SAVE: "its checkpoints and logs",
    Why.EVALUATE: "its evaluation or callbacks",
    Why.BUILD: "its tracing",
    Why.UNKNOWN: "it (reason not visible)",
}


class Straggler(Cause):
    """
    What happens

    In a synchronous job every worker must deliver its gradients before a step can end. One worker
    arrives later than the others, which wait for it.

    Why it is slow

    The job runs at the speed of its slowest worker, however many there are. What a collective takes
    beyond its shortest time over all workers is waiting; the others wait for the worker that waits
    least. The reason is what it spends more time on than they do: input, its own Python, longer
    batches, memory, garbage collection, saving, evaluation, or a machine that gives it less
    processor time.

    The fix

    It depends on the reason: the same input and batches for every worker, Python and evaluation out
    of the steps, a quieter machine. The step without the straggler is computed from the recorded
    steps, as if one of the others were in its place.

    When we are wrong

    Waiting inside a compiled step is estimated: processor time says how long it computes, and
    tf.data's model of its iterator how long it waits for input (from TensorFlow 2.17 on, unless
    autotuning is off). A worker that is slow there in another way without computing, such as a
    Python function that waits for a disk, also seems to wait. Profiler windows
    (`UNSLOW_JOB_WINDOWS=1`) tell them apart, but on TensorFlow 2.21 closing one ends a worker about
    once in a hundred times.

    A reason is named only where it explains most of the wait. Where none does, the worker has to be
    late throughout the job, or for many minutes of a long one, more than chance would have it:
    other programs on its machine make any worker late now and then.
    """

    title = "the other workers wait for one"
    reads = READS

    def detect(self, run: Run) -> Iterable[Finding]:
        job = job_of(run)
        if job is None:
            return
        for row in job.stragglers:
            reason = reason_of(run, job, row)
            if reason.why is not Why.UNKNOWN or is_persistent(job, row):
                yield _finding(self.id, job, row, reason)
        yield from _late(self.id, job)


def _finding(cause: str, job: Job, row: int, reason: Reason) -> Finding:
    worker = job.workers[row]
    caused = float(job.caused[row])
    wait = caused / max(1, reason.steps)
    is_occasional = reason.steps < _MOST_STEPS * max(1, job.steps)
    how_often = f"in {reason.steps} of {job.steps} steps, " if is_occasional else ""
    title = f"{worker.name} holds the others up: {how_often}they wait {say.time(wait)} "
    title += f"of a step for {_WORDS[reason.why]}"
    exact = job.exact is not None
    return Finding(
        cause=cause,
        title=title,
        location=reason.location,
        seconds=caused * len(job.workers),  # every one of them waits, or could be ahead
        evidence=tuple(_evidence(job, row, reason, wait)),
        certainty=Certainty.MEASURED if exact else Certainty.LIKELY,
        advice=_ADVICE[reason.why],
        detail=reason,
    )


def _evidence(job: Job, row: int, reason: Reason, wait: float) -> Iterable[Evidence]:
    worker = job.workers[row]
    yield Evidence("worker", f"{worker.name} on {worker.host} (pid {worker.pid})")
    yield Evidence("reason", reason.why.value)
    yield Evidence("the others wait", say.time(wait) + " in each of these steps")
    yield Evidence("last to arrive", f"{reason.steps} of {job.steps} steps, since {reason.since}")
    yield Evidence("its own work beyond the others'", say.time(reason.excess))
    if reason.why is not Why.UNKNOWN:
        most = Work(int(np.argmax(reason.by_work)))
        yield Evidence("of that, " + most.name.lower(), say.share(reason.explained))
    yield Evidence("a step now", say.time(job.measured_step))
    yield Evidence("a step without it, by replay", say.time(job.ideal_step))
    yield Evidence("workers", f"{len(job.workers)} of {job.size} recorded")


def _late(cause: str, job: Job) -> Iterable[Finding]:
    """Workers that started so late that the others waited before the first step."""
    late = [worker for worker in job.workers if worker.state is State.LATE]
    starts = sorted(worker.started for worker in job.workers)
    if not late or len(late) > len(job.workers) // 2:
        return
    usual = starts[(len(starts) - 1) // 2]
    last = max(late, key=lambda worker: worker.started)
    seconds = last.started - usual
    yield Finding(
        cause=cause,
        title=f"{names(late)} started {say.time(seconds)} after the others, which waited",
        location=None,
        seconds=seconds,
        evidence=(
            Evidence("worker", f"{last.name} on {last.host} (pid {last.pid})"),
            Evidence("reason", Why.LATE.value),
            Evidence("started after the median worker", seconds, "s"),
        ),
        advice="Start all workers together: reserve their machines first, and keep images and "
        "data close to them.",
        stretch=SETUP,
    )


def _job(says: str, *workers: Hand, steps: int = 200) -> JobSketch:
    return JobSketch(says, workers=workers, steps=steps)


_USUAL = {"input": 0.004, "python": 0.001}
_EQUAL = Hand(_USUAL)
_EVERYTHING = {"input": 0.02, "python": 0.017, "save": 0.02}
_A_WHILE = Hand(_USUAL, extra=_EVERYTHING, since=60, until=140)
Straggler.FIRES = (
    _job("slow input on one of three", _EQUAL, _EQUAL, Hand({"input": 0.04, "python": 0.001})),
    _job("extra Python on one of two", _EQUAL, Hand({"input": 0.004, "python": 0.03})),
    _job("longer batches", _EQUAL, _EQUAL, Hand(_USUAL, inside=0.05, elements=4096)),
    _job("a busy core", _EQUAL, _EQUAL, Hand(_USUAL, delay=0.03)),
    _job("evaluation now and then", _EQUAL, Hand(_USUAL, extra={"evaluate": 1.0}, every=50)),
    _job("since the middle", _EQUAL, _EQUAL, Hand(_USUAL, extra={"python": 0.06}, since=100)),
    _job("a bit of everything", _EQUAL, _EQUAL, Hand(_EVERYTHING)),
    _job(
        "a little of everything, all the time",
        _EQUAL,
        Hand({"input": 0.0055, "python": 0.0025, "save": 0.0015}),
    ),
    _job("it started late", _EQUAL, _EQUAL, Hand(_USUAL, start=9.0)),
)
Straggler.QUIET = (
    _job("all alike", _EQUAL, _EQUAL, _EQUAL),
    _job("all have slow input", *[Hand({"input": 0.05})] * 3),
    _job("a slow first step", _EQUAL, Hand(_USUAL, extra={"build": 3.0}, until=1)),
    _job("one long pause", _EQUAL, Hand(_USUAL, extra={"build": 3.0}, since=100, until=100)),
    _job("a rare evaluation", _EQUAL, Hand(_USUAL, extra={"evaluate": 0.05}, every=50)),
    _job("a bit of everything for a while", _EQUAL, _EQUAL, _A_WHILE),
    _job("a single worker", _EQUAL),
)
