"""Python's garbage collector takes a share of the steps."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from unslow.analyse.sketch import Sketch
from unslow.cause import Cause
from unslow.model import Evidence, Finding, Forecast, Loop, Phase, Run

_SHARE = 0.05
_GROWN = 1.5


class GcPauses(Cause):
    """
    What happens
    Python's collector stops the training again and again to look through all objects for cycles. It takes a
    noticeable share of the steps.

    Why it is slow
    A full collection visits every tracked object of the process. The more objects the program keeps alive, the longer
    each one takes, so a program that gathers objects gets slower with time.

    The fix
    Call `gc.collect()` and `gc.freeze()` once after the set-up, so that what exists by then is never visited again,
    or raise the threshold with `gc.set_threshold(50_000, 20, 100)`. If the share grows, something gathers objects:
    that is the thing to mend.

    When we are wrong
    Where memory is short the collections may be needed; freezing costs memory that cycles would have given back.
    """

    title = "the garbage collector takes a share of the steps"
    needs = ("gc",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            finding = self._judge(loop)
            if finding is not None:
                yield finding

    def _judge(self, loop: Loop) -> Finding | None:
        column = loop.phases[1:, Phase.GC] * loop.count[1:]
        total, steady = float(column.sum()), float((loop.seconds[1:] * loop.count[1:]).sum())
        if steady <= 0 or total < _SHARE * steady or len(column) < 20:
            return None
        half = len(column) // 2
        early, late = float(column[:half].mean()), float(column[half:].mean())
        grows = early > 0 and late > _GROWN * early
        return Finding(
            cause=self.id,
            title=f"the garbage collector takes {total / steady:.0%} of the steps"
            + (", and more and more" if grows else ""),
            location=loop.location,
            seconds=total,
            grows=grows,
            forecast=_forecast(loop, early, late) if grows else None,
            evidence=(
                Evidence("in collections", round(total, 3), "s"),
                Evidence("share of the steps", round(100 * total / steady, 1), "%"),
                Evidence("longest in a step", round(float(np.max(column)) * 1e3, 1), "ms"),
                Evidence("second half against the first", round(late / early, 2) if early else 0.0, "×"),
            ),
            advice="After the set-up, in front of the loop: `import gc; gc.collect(); gc.freeze()`.",
        )


def _forecast(loop: Loop, early: float, late: float) -> Forecast:
    per_step = (late - early) / (loop.steps / 2)
    step = loop.steps * 10
    return Forecast(step=step, step_seconds=loop.typical() + per_step * step)


GcPauses.FIRES = (
    Sketch("a tenth of each step", [0.01] * 100, phases={Phase.GC: 0.1}),
    Sketch("a share that grows", [0.01] * 100, phases={Phase.GC: [0.002 * n for n in range(100)]}),
)
GcPauses.QUIET = (
    Sketch("one per cent", [0.01] * 100, phases={Phase.GC: 0.01}),
    Sketch("one long collection in the first step", [0.5] + [0.01] * 100, phases={Phase.GC: [0.9] + [0.0] * 100}),
)
