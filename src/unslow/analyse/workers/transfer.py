"""Why the transfer between workers takes long: which of a step's collectives take most of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.workers.job import CollectiveKind, Job
from unslow.model import Run

SMALL = "many small collectives"
FINITE = "finite dataset"
REDUCED = "a reduce per step"
_MANY_COLLECTIVES = 6.0  # in a step: a compiled step packs its gradients into one or a few
_LARGE_BYTES = 8 << 20  # in a step: they take 7 ms on 10 Gbit/s
# What one collective costs beside its bytes, in bytes: about 1 ms of round trips at 1 GB/s.
_LATENCY_BYTES = 1 << 20
_MAIN_SHARE = 0.5  # of the transfer: a reason is named if it takes most of it


@dataclass(frozen=True)
class Reason:
    """Why transfer takes long, and the collectives that it explains; none if it does not apply."""

    name: str
    text: str
    advice: str
    kinds: tuple[CollectiveKind, ...] = ()


# What a program asks all workers for beside its gradients; see `Collective.within`.
BETWEEN = {
    "input": Reason(
        FINITE,
        "before every element all workers are asked whether any has data",
        "Add `.repeat()` to the dataset and count the steps.",
    ),
    "reduce": Reason(
        REDUCED,
        "every step reduces a value for the program",
        "Keep the value on each worker (a metric), and reduce it every hundred steps.",
    ),
}


def transfer_per_step(job: Job) -> float:
    if job.exact is not None:
        return job.exact.transfer
    return float(np.nanmedian(job.transfer[job.judged]))


def main_reason(run: Run, job: Job) -> Reason | None:
    """The most specific reason that takes most of the transfer."""
    own = tuple(kind for kind in job.collectives if not _is_of_keras(run, kind))
    for reason in _reasons(own):
        if reason.kinds and explained(job, reason) >= _MAIN_SHARE:
            return reason
    return None


def explained(job: Job, reason: Reason) -> float:
    """The share of the transfer that a reason explains."""
    return _cost(reason.kinds) / max(_cost(job.collectives), 1e-9)


def total_bytes(kinds: Iterable[CollectiveKind]) -> int:
    return sum(kind.bytes for kind in kinds)


def _cost(kinds: Iterable[CollectiveKind]) -> float:
    """What collectives cost, in bytes: their own and those of their round trips."""
    return sum(kind.bytes + _LATENCY_BYTES * kind.count for kind in kinds)


def _is_of_keras(run: Run, kind: CollectiveKind) -> bool:
    """`fit()` reduces its metrics in every step, and nobody can keep it from that."""
    return kind.within == "reduce" and any(loop.style == "keras" for loop in run.loops)


def _reasons(kinds: Sequence[CollectiveKind]) -> Iterable[Reason]:
    """All possible reasons, the most specific first."""
    yield _gathered(tuple(kind for kind in kinds if kind.sparse))
    yield _one_by_one(tuple(kind for kind in kinds if kind.eager and not kind.within))
    yield _small(tuple(kinds))
    for within, reason in BETWEEN.items():
        inside = tuple(kind for kind in kinds if kind.within == within and not kind.eager)
        yield replace(reason, kinds=inside)
    yield _large(tuple(kind for kind in kinds if not kind.sparse))


def _gathered(sparse: tuple[CollectiveKind, ...]) -> Reason:
    return Reason(
        "gathered slices",
        f"{say.size(total_bytes(sparse))} of IndexedSlices are gathered from every worker",
        "Make the gradient of the table dense if most rows are used "
        "(`tf.convert_to_tensor`), or look up fewer rows.",
        sparse,
    )


def _one_by_one(eager: tuple[CollectiveKind, ...]) -> Reason:
    launched = sum(kind.count for kind in eager)
    return Reason(
        SMALL,
        f"{launched:.0f} collectives a step, one for each tensor",
        "Compile the step with `tf.function`: the gradients are then packed into one collective.",
        eager if launched >= _MANY_COLLECTIVES else (),
    )


def _small(kinds: tuple[CollectiveKind, ...]) -> Reason:
    number = sum(kind.count for kind in kinds)
    are_small = number >= _MANY_COLLECTIVES and total_bytes(kinds) < _LARGE_BYTES
    return Reason(
        SMALL,
        f"{number:.0f} collectives a step",
        "Reduce all gradients in one call, and give `CommunicationOptions` a larger "
        "`bytes_per_pack`.",
        kinds if are_small else (),
    )


def _large(dense: tuple[CollectiveKind, ...]) -> Reason:
    return Reason(
        "large gradients",
        f"{say.size(total_bytes(dense))} of gradients from every worker",
        "Larger batches per worker, gradients accumulated over several steps, or a smaller model.",
        dense if total_bytes(dense) >= _LARGE_BYTES else (),
    )
