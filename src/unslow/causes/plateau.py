"""The steps are as fast as before; the loss has stopped moving."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from unslow.analyse.sketches.sketch import Sketch
from unslow.analyse.stats.robust import spread
from unslow.cause import Cause
from unslow.model import Evidence, Finding, Loop, Run, Shape

_FEWEST_VALUES = 200  # of the loss (judgement)
_FLAT = 0.02  # of the whole fall of the loss, in the second half (judgement)
_FIRST_VALUES = 5  # that say where the loss began
_CLEAR_FALL = 4.0  # times the noise of the loss
_LEAST_FALL = 0.05  # of the loss at the start


class Plateau(Cause):
    """
    What happens
    The training seems to slow down, but every step takes as long as before. The loss fell quickly
    at first and hardly moves now.

    Why it is slow
    It is not slower: there is less left to learn at this learning rate. Faster steps do not help.

    The fix
    Change the training itself: a learning-rate schedule, early stopping, or more data.

    When we are wrong
    The loss is the number that the script fetched in every step (or Keras's logs); it may have been
    another number.
    """

    title = "the steps are as fast as before; the loss has stopped moving"
    needs = ("tensors",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.training:
            yield from self._judge(loop)

    def _judge(self, loop: Loop) -> Iterable[Finding]:
        if loop.values is None or loop.trend.shape is not Shape.STEADY:
            return
        known = np.isfinite(loop.values)
        values = loop.values[known]
        if len(values) < _FEWEST_VALUES:
            return
        parts = [float(np.median(part)) for part in np.array_split(values, 10)]
        # A loss that falls at once has come down before the first tenth is over.
        first = float(np.median(values[: max(_FIRST_VALUES, len(values) // 100)]))
        fall = first - parts[5]
        late = parts[5] - parts[9]
        noise = spread(values[len(values) // 2 :])
        has_fallen = fall > _CLEAR_FALL * noise and fall >= _LEAST_FALL * abs(first)
        if not has_fallen or abs(late) > _FLAT * fall:
            return
        half = len(values) // 2
        since = float((loop.seconds[known][half:] * loop.count[known][half:]).sum())
        yield Finding(
            cause=self.id,
            title=f"a step takes {loop.typical() * 1e3:.3g} ms as before; the loss moved "
            f"{late:.2g} in the second half",
            location=loop.location,
            seconds=since,
            fault=False,
            evidence=(
                Evidence("loss at the start", round(first, 5)),
                Evidence("half-way", round(parts[5], 5)),
                Evidence("at the end", round(parts[9], 5)),
            ),
            advice="Speed is not the problem: check the learning rate, or stop earlier.",
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
