"""Some batches are simply larger: the step time follows the elements in the batch."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from unslow.analyse.sketches.sketch import Sketch
from unslow.analyse.stats.growth import changed_with
from unslow.cause import Cause
from unslow.model import Evidence, Finding, Loop, Run

_SPREAD = 1.3  # the largest batches against the smallest
_FOLLOWS = 0.6  # of the variance of the step time
_LEAST = 30  # steps
_SLOWER = 1.15  # times the step of a small batch


class UnevenBatches(Cause):
    """
    What happens
    Step times differ, or rise over the run, because the batches differ: longer sequences, larger
    images, more rows.

    Why it is slow
    It is not: the time per element stays the same. Looking at steps alone makes it seem that the
    training slows down.

    The fix
    Nothing has to be mended. Batches of equal length (`bucket_by_sequence_length`) make the steps
    even, and save the padding where short and long sequences share a batch.

    When we are wrong
    If something else grows together with the batch size, the two cannot be told apart by time
    alone.
    """

    title = "the batches are of different sizes"
    needs = ("functions",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            yield from self._judge(loop)

    def _judge(self, loop: Loop) -> Iterable[Finding]:
        if loop.elements is None or len(loop.seconds) < _LEAST:
            return
        elements, seconds = loop.elements[1:], loop.seconds[1:]
        known = elements > 0
        if known.sum() < _LEAST:
            return
        elements, seconds, count = elements[known], seconds[known], loop.count[1:][known]
        small, large = np.quantile(elements, (0.1, 0.9))
        quick = max(1e-12, float(np.median(seconds[elements <= small])))
        slow = float(np.median(seconds[elements >= large])) / quick
        if large < _SPREAD * small or slow < _SLOWER:
            return
        share = changed_with(seconds, elements).share
        if share < _FOLLOWS:
            return
        yield Finding(
            cause=self.id,
            title=f"step time follows the batch: {large / small:.1f}× the elements take "
            f"{slow:.1f}× the time",
            location=loop.location,
            seconds=float((np.maximum(0.0, seconds - quick) * count).sum()),
            fault=False,
            evidence=(
                Evidence("elements in a small batch", int(small)),
                Evidence("elements in a large batch", int(large)),
                Evidence("of the differences explained", round(100 * share), "%"),
            ),
            advice="The time per element is steady. To make steps even: batches of equal length "
            "(bucketing).",
        )


UnevenBatches.FIRES = (
    Sketch(
        "sequences that get longer",
        [0.01 + 0.0001 * n for n in range(200)],
        elements=[1000 + 10 * n for n in range(200)],
    ),
)
UnevenBatches.QUIET = (
    Sketch("equal batches", [0.01] * 200, elements=[1000] * 200),
    Sketch(
        "a drift that the batches do not explain",
        [0.01 + 0.0001 * n for n in range(200)],
        elements=[1000] * 200,
    ),
)
