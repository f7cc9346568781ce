"""Some batches are larger: the step time follows the elements in the batch."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from unslow.analyse.sketches.sketch import Sketch
from unslow.analyse.stats.growth import changed_with
from unslow.cause import Cause
from unslow.model import Evidence, Finding, Loop, Run

_LARGER = 1.3  # times a small batch, which a large one must have in elements (judgement)
_SLOWER = 1.15  # times the step of a small batch (judgement)
_EXPLAINED = 0.6  # of the variance of the step time
_FEWEST_STEPS = 30


class UnevenBatches(Cause):
    """
    What happens
    Step times differ, or rise over the run, because the batches differ: longer sequences, larger
    images, more rows.

    Why it is slow
    It is not: the time per element stays the same. Only the step times make the training seem to
    slow down.

    The fix
    None is needed. Batches of equal length (`bucket_by_sequence_length`) make the steps even, and
    save padding where short and long sequences share a batch.

    When we are wrong
    If something else grows together with the batch size, time alone cannot tell the two apart.
    """

    title = "the batches are of different sizes"
    needs = ("functions",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            yield from self._judge(loop)

    def _judge(self, loop: Loop) -> Iterable[Finding]:
        if loop.elements is None or len(loop.seconds) < _FEWEST_STEPS:
            return
        elements, seconds = loop.elements[1:], loop.seconds[1:]
        known = elements > 0
        if known.sum() < _FEWEST_STEPS:
            return
        elements, seconds, count = elements[known], seconds[known], loop.count[1:][known]
        small, large = np.quantile(elements, (0.1, 0.9))
        quick = max(1e-12, float(np.median(seconds[elements <= small])))
        slow = float(np.median(seconds[elements >= large])) / quick
        if large < _LARGER * small or slow < _SLOWER:
            return
        share = changed_with(seconds, elements).share
        if share < _EXPLAINED:
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
            advice="The time per element is steady. Batches of equal length (bucketing) make steps "
            "even.",
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
