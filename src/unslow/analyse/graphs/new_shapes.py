"""What batches of new shapes cost: steps with a new shape compared with those without."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse.stats.robust import spread
from unslow.facts.functions import UnusualCall
from unslow.facts.memory import Batch
from unslow.model import Evidence, Loop, Phase, Run

if TYPE_CHECKING:
    from unslow.model import Floats

_FEWEST = 8  # steps of either kind: fewer say nothing
_NEAR = 5  # steps of about the same size that a step is compared with
_APART = (Phase.INPUT, Phase.TRACE, Phase.SAVE, Phase.LOG, Phase.EVAL, Phase.HOOKS, Phase.GC)


@dataclass(frozen=True)
class Churn:
    """Shapes of a loop's batches, and what a new one costs."""

    distinct: int
    steps: int
    extra: float  # seconds that a step with a new shape takes longer than one of its size
    first: tuple[int, ...]
    last: tuple[int, ...]

    @property
    def seconds(self) -> float:
        return self.extra * (self.distinct - 1)

    def evidence(self) -> tuple[Evidence, ...]:
        return (
            Evidence("different shapes", self.distinct),
            Evidence("steps", self.steps),
            Evidence("one of the first shapes", str(list(self.first))),
            Evidence("one of the last", str(list(self.last))),
            Evidence("seconds that a new shape adds to its step", self.extra, "s"),
        )

    def advice(self) -> str:
        return (
            f"Pad the batches to a few lengths, so that {self.distinct} shapes become four or "
            "eight: "
            "`dataset.bucket_by_sequence_length(…, pad_to_bucket_boundary=True)`, or round the "
            "length up to a "
            "multiple (`tf.pad`) and mask what was added."
        )


def new_shapes(run: Run, loop: Loop) -> list[tuple[float, tuple[int, ...]]]:
    """When a shape was first seen in a loop, and its largest tensor.

    Of a compiled step, or of an eager model.
    """
    calls = [call for call in run.facts(UnusualCall) if loop.holds(call) and call.shapes]
    untraced = [call for call in calls if "shapes" in call.why and "traced" not in call.why]
    found = [(call.time, _largest(call.shapes)) for call in untraced]
    batches = [batch for batch in run.facts(Batch) if batch.shapes and loop.holds(batch)]
    found += [(batch.time, _largest(batch.shapes)) for batch in batches]
    return sorted(found, key=lambda seen: seen[0])


def _largest(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return max(shapes, key=lambda shape: (math.prod(shape), shape))


def churn_of(run: Run, loop: Loop) -> Churn | None:
    """What new shapes cost in a loop; None where they are few or cannot be told from noise."""
    moments = new_shapes(run, loop)
    if len(moments) < _FEWEST or len(loop.seconds) < 3 * _FEWEST or int(loop.count.max()) > 1:
        return None
    work = loop.seconds - loop.phases[:, list(_APART)].sum(axis=1)
    fresh = np.zeros(len(work), dtype=bool)
    for time, _ in moments:
        # The fact is written when its call returns: the step that it belongs to ends just after.
        fresh[min(bisect.bisect_left(loop.end, time), len(work) - 1)] = True
    fresh[0] = False
    sizes = (
        loop.elements if loop.elements is not None and loop.elements.any() else np.zeros(len(work))
    )
    known = ~fresh
    known[0] = False
    # steps after the last new shape may differ for any other reason: the machine, the end of a
    # warm-up
    if fresh.any():
        known[int(np.flatnonzero(fresh)[-1]) + _NEAR :] = False
    if fresh.sum() < _FEWEST or known.sum() < _FEWEST:
        return None
    over = _against(work[fresh], sizes[fresh], work[known], sizes[known])
    noise = _against(work[known], sizes[known], work[known], sizes[known], leave=True)
    extra = float(np.median(over))
    if not _certain(over, extra, spread(noise)):
        return None
    return Churn(len(moments) + 1, loop.steps, extra, moments[0][1], moments[-1][1])


def _certain(over: Floats, extra: float, sigma: float) -> bool:
    """Whether the extra cost is beyond noise, in most of the steps, and early as well as late."""
    half = len(over) // 2
    most = 0.5 + min(
        0.3, 2 / np.sqrt(len(over))
    )  # four sigmas of a fair coin, where there are enough throws
    late = float(np.median(over[half:]))
    return bool(
        extra > 3 * sigma / np.sqrt(len(over)) and np.mean(over > 0) >= most and late > 0.3 * extra
    )


def _against(
    values: Floats, sizes: Floats, others: Floats, other_sizes: Floats, leave: bool = False
) -> Floats:
    """Each value less the median of the nearest others in size; `leave` skips the value itself."""
    order = np.argsort(other_sizes, kind="stable")
    ranked, ranked_sizes = others[order], other_sizes[order]
    result = np.empty(len(values))
    places = np.empty(len(order), dtype=int)
    places[order] = np.arange(len(order))
    for index, (value, size) in enumerate(zip(values, sizes, strict=True)):
        at = int(places[index]) if leave else int(np.searchsorted(ranked_sizes, size))
        low = max(0, min(at - _NEAR // 2, len(ranked) - _NEAR))
        near = ranked[low : low + _NEAR]
        if leave:
            near = np.delete(near, at - low)
        result[index] = value - float(np.median(near))
    return result
