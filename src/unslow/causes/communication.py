"""The workers of a job spend their steps in exchanging gradients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.run.tallies import line_totals
from unslow.analyse.sketches.jobs import Hand, JobSketch
from unslow.analyse.workers.assemble import job_of
from unslow.analyse.workers.job import CollectiveKind, Job
from unslow.cause import Cause
from unslow.facts.schema import Place
from unslow.facts.workers import (
    Collective,
    RemoteFetch,
    RemoteWork,
    SharedWindow,
    StrategyMade,
    SyncBlock,
    WorkerIdentity,
)
from unslow.model import Certainty, Evidence, Finding, Location, Run

# Of the steps, that transfer takes: below, more workers still pay. A judgement; balanced jobs of
# 2 to 4 processes with steps of 50 ms on loopback stay below 0.2.
_LEAST_SHARE = 0.25
_MANY = 6.0  # collectives in a step: a compiled step packs its gradients into one or a few
_LARGE = 8 << 20  # bytes in a step: 7 ms and more on 10 Gbit/s
# What one collective costs beside its bytes, in bytes: about a millisecond of round trips at 1
# GB/s.
_LATENCY = 1 << 20
_LEADS = 0.5  # of the transfer: a reason is named where it takes most of it
_FETCHED = 0.1  # of the training, that a coordinator waits for values


@dataclass(frozen=True)
class _Reason:
    name: str
    text: str
    advice: str
    kinds: tuple[CollectiveKind, ...]


class Communication(Cause):
    """
    What happens

    The workers of a job arrive together and then spend a large part of the step in collectives, or
    a coordinator waits for values that its workers computed.

    Why it is slow

    Transfer does not shrink with more workers. It takes long where gradients are large, where each
    tensor is sent by itself (an eager step packs nothing), where every step reduces a value for
    the log, where `IndexedSlices` are gathered from all workers instead of reduced, where a finite
    dataset asks all workers before each element whether anyone has data, or where a parameter
    server's value is fetched in every step.

    The fix

    Compile the step, so that gradients are packed. Repeat the dataset and count the steps. Reduce
    and fetch values for the log every hundred steps. For large gradients: larger batches per
    worker, fewer updates (accumulate), a smaller model, or `CommunicationOptions`.

    When we are wrong

    Workers on one machine share its processors: what looks like transfer may be computing that
    waits for a core. Times are the shortest over all workers, which leaves stragglers out.
    """

    title = "the workers spend the step in collectives"
    reads = (
        WorkerIdentity,
        SyncBlock,
        StrategyMade,
        Collective,
        RemoteWork,
        RemoteFetch,
        SharedWindow,
    )

    def detect(self, run: Run) -> Iterable[Finding]:
        job = job_of(run)
        if job is not None and len(job.workers) > 1 and job.judged.any():
            yield from _transfer(self.id, run, job)
        yield from _fetches(self.id, run)


def _transfer(cause: str, run: Run, job: Job) -> Iterable[Finding]:
    per_step = _per_step(job)
    share = per_step / max(job.measured_step, 1e-9)
    reason = _reason(job)
    if share < _LEAST_SHARE or reason is None:
        return
    total = sum(kind.bytes for kind in job.collectives)
    part = _weight(reason.kinds) / max(_weight(job.collectives), 1e-9)
    where = next((kind.location for kind in reason.kinds if kind.location), None)
    location = say.place(run, where) if where is not None else None
    yield Finding(
        cause=cause,
        title=f"{say.share(share)} of a step is transfer between workers: {reason.text}",
        location=location,
        seconds=per_step * part * job.steps * len(job.workers),
        evidence=(
            Evidence("reason", reason.name),
            Evidence("transfer in a step", say.time(per_step)),
            Evidence("a step", say.time(job.measured_step)),
            Evidence("collectives in a step", round(job.per_step, 1)),
            Evidence("bytes in a step", say.size(total)),
            Evidence("achieved", say.size(total / max(per_step, 1e-9)) + "/s"),
            Evidence("workers", len(job.workers)),
        ),
        certainty=Certainty.MEASURED if job.exact is not None else Certainty.LIKELY,
        advice=reason.advice,
        detail=reason,
    )


def _per_step(job: Job) -> float:
    if job.exact is not None:
        return job.exact.transfer
    return float(np.nanmedian(job.transfer[job.judged]))


def _weight(kinds: Iterable[CollectiveKind]) -> float:
    """What collectives cost, in bytes: their own and those of their round trips."""
    return sum(kind.bytes + _LATENCY * kind.count for kind in kinds)


def _reason(job: Job) -> _Reason | None:
    """The reason that takes most of the transfer, if there is one that can be helped."""
    whole = _weight(job.collectives)
    for reason in _reasons(job):
        if reason.kinds and _weight(reason.kinds) >= _LEADS * whole:
            return reason
    return None


def _reasons(job: Job) -> Iterable[_Reason]:
    """What may be the reason, from the most to the least specific."""
    kinds = job.collectives
    yield _gathered_slices(kinds)
    yield _one_by_one(kinds)
    yield _many_small(job)
    yield _Reason(
        "finite dataset",
        "before every element all workers are asked whether anyone has data",
        "Add `.repeat()` to the dataset and count the steps.",
        tuple(kind for kind in kinds if kind.within == "input"),
    )
    yield _Reason(
        "a reduce per step",
        "every step reduces a value for the program",
        "Keep the value on each worker (a metric), and reduce it every hundred steps.",
        tuple(kind for kind in kinds if kind.within == "reduce"),
    )
    yield _large_gradients(kinds)


def _gathered_slices(kinds: Sequence[CollectiveKind]) -> _Reason:
    sparse = tuple(kind for kind in kinds if kind.sparse)
    return _Reason(
        "gathered slices",
        f"{say.size(_total(sparse))} of IndexedSlices are gathered from every worker",
        "Make the gradient of the table dense where most rows are touched "
        "(`tf.convert_to_tensor`), or look up fewer rows.",
        sparse,
    )


def _one_by_one(kinds: Sequence[CollectiveKind]) -> _Reason:
    """Collectives that the program launches itself, without a compiled step to pack them."""
    eager = tuple(kind for kind in kinds if kind.eager and not kind.within)
    launched = sum(kind.count for kind in eager)
    return _Reason(
        "many small collectives",
        f"{launched:.0f} collectives a step, one for each tensor",
        "Compile the step with `tf.function`: the gradients are then packed into one collective.",
        eager if launched >= _MANY else (),
    )


def _many_small(job: Job) -> _Reason:
    kinds = job.collectives
    return _Reason(
        "many small collectives",
        f"{job.per_step:.0f} collectives a step",
        "Reduce all gradients in one call, and give `CommunicationOptions` a larger "
        "`bytes_per_pack`.",
        tuple(kinds) if job.per_step >= _MANY and _total(kinds) < _LARGE else (),
    )


def _large_gradients(kinds: Sequence[CollectiveKind]) -> _Reason:
    dense = tuple(kind for kind in kinds if not kind.sparse)
    return _Reason(
        "large gradients",
        f"{say.size(_total(dense))} of gradients from every worker",
        "Larger batches per worker, gradients accumulated over several steps, or a smaller model.",
        dense if _total(dense) >= _LARGE else (),
    )


def _total(kinds: Iterable[CollectiveKind]) -> int:
    return sum(kind.bytes for kind in kinds)


def _fetches(cause: str, run: Run) -> Iterable[Finding]:
    """A coordinator that waits for a value in every step keeps its workers from running ahead."""
    for loop in run.loops:
        for line in line_totals(run, loop, RemoteFetch):
            if line.seconds < _FETCHED * loop.total:
                continue
            share = line.seconds / loop.total
            yield Finding(
                cause=cause,
                title=f"{say.code(line.location)} waits for workers for {say.share(share)} "
                "of the loop",
                location=line.location,
                seconds=line.seconds,
                evidence=(
                    Evidence("reason", "parameter-server fetches"),
                    Evidence("fetches", line.count),
                    Evidence("waited", line.seconds, "s"),
                ),
                advice="Schedule many steps before you fetch a value: the workers run ahead "
                "of the coordinator.",
            )


_STACK = (Place("train.py", 12, "step"),)


def _job(says: str, *kinds: Collective, transfer: float = 0.03, per_step: int = 1) -> JobSketch:
    workers = [Hand({"input": 0.002}, inside=0.03)] * 3
    return JobSketch(says, workers=workers, collectives=kinds, transfer=transfer, per_step=per_step)


_LARGE_ONE = Collective(what="all_reduce", bytes=40 << 20, tensors=12, key="a", stack=_STACK)
_SMALL = Collective(what="all_reduce", bytes=4096, eager=True, key="b", n=4000, stack=_STACK)
_SLICES = Collective(
    what="all_gather", bytes=9 << 20, tensors=3, sparse=True, key="c", stack=_STACK
)
_LINE = Location("train.py", 12)
Communication.FIRES = (
    _job("large gradients", _LARGE_ONE),
    _job("one collective for each tensor", _SMALL, per_step=20),
    _job("gathered slices", _SLICES, per_step=3),
)
Communication.QUIET = (
    _job("large gradients, well hidden", _LARGE_ONE, transfer=0.003),
    _job("one small pack", _SMALL.replace(eager=False, n=1), transfer=0.03),
    JobSketch("no collective seen", transfer=0.03),
)
