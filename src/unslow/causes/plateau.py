"""The steps are as fast as ever; it is the loss that has stopped moving."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from unslow.analyse.sketches.sketch import Sketch
from unslow.analyse.stats.robust import spread
from unslow.cause import Cause
from unslow.model import Evidence, Finding, Loop, Run, Shape

_LEAST = 200  # values of the loss
_FLAT = 0.02  # of the whole fall of the loss, in the second half
_FIRST = 5  # values that say where the loss began
_CLEAR = 4.0  # times the noise of the loss, that it must have fallen


class Plateau(Cause):
    """
    What happens
    The training seems to slow down, but every step takes as long as before. The loss fell quickly
    at first and hardly moves now.

    Why it is slow
    It is not slower, it has less left to learn at this learning rate. No change for speed helps.

    The fix
    This is a question of the training itself: a learning-rate schedule, early stopping, or more
    data.

    When we are wrong
    The loss is taken from what the script fetched to the host (or from Keras's logs); another
    number that it fetched in every step may have been followed instead.
    """

    title = "the steps are as fast as ever; the loss has stopped moving"
    needs = ("tensors",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.training:
            yield from self._judge(loop)

    def _judge(self, loop: Loop) -> Iterable[Finding]:
        if loop.values is None or loop.trend.shape is not Shape.STEADY:
            return
        known = np.isfinite(loop.values)
        values = loop.values[known]
        if len(values) < _LEAST:
            return
        parts = [float(np.median(part)) for part in np.array_split(values, 10)]
        # A loss that falls at once has come down before the first tenth is over.
        first = float(np.median(values[: max(_FIRST, len(values) // 100)]))
        fall = first - parts[5]
        late = parts[5] - parts[9]
        noise = spread(values[len(values) // 2 :])
        if fall <= _CLEAR * noise or fall < 0.05 * abs(first) or abs(late) > _FLAT * fall:
            return
        half = len(values) // 2
        since = float((loop.seconds[known][half:] * loop.count[known][half:]).sum())
        yield Finding(
            cause=self.id,
            title=f"a step takes {loop.typical() * 1e3:.3g} ms as ever; the loss moved {late:.2g} "
            "in the second half",
            location=loop.location,
            seconds=since,
            fault=False,
            evidence=(
                Evidence("loss at the start", round(first, 5)),
                Evidence("half-way", round(parts[5], 5)),
                Evidence("at the end", round(parts[9], 5)),
            ),
            advice="Not a matter of speed: look at the learning rate, or stop earlier.",
        )


Plateau.FIRES = (
    Sketch(
        "a loss that fell and then stood still",
        [0.01] * 400,
        values=[max(0.1, 1.0 - 0.006 * n) for n in range(400)],
    ),
    Sketch(
        "a loss that fell at once",
        [0.01] * 400,
        values=[max(0.1, 1.0 - 0.06 * n) for n in range(400)],
    ),
)
Plateau.QUIET = (
    Sketch("a loss that still falls", [0.01] * 400, values=[1.0 - 0.002 * n for n in range(400)]),
    Sketch("steps that get slower", [0.01 * (1 + n / 200) for n in range(400)], values=[0.1] * 400),
    Sketch("no loss seen", [0.01] * 400),
    Sketch(
        "a loss that was never more than noise",
        [0.01] * 400,
        values=[1.0 + 0.1 * math.cos(n * n) for n in range(400)],
    ),
)
