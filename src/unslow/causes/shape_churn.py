"""Batches whose shapes keep changing: kernels prepare for each new shape, and keep it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.graphs.new_shapes import Churn, churn_of, new_shapes
from unslow.analyse.host.machine import during
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause
from unslow.facts.functions import UnusualCall
from unslow.facts.memory import Batch
from unslow.model import Certainty, Evidence, Finding, Forecast, Loop, Run

_FEWEST_SHAPES = 30  # a judgement: memory that rose with fewer may have risen for any reason
_FEWEST_READINGS = 8  # of the memory
_WORTH_BYTES = 50e6  # in all (judgement)
_LEAST_EACH = 100e3  # bytes: a shape that keeps less cannot be told from chance
_GOOD_FIT = 0.8  # of the variance of the memory, which the shapes must explain
# Of the same: where nearly every step has a new shape, steps and shapes explain the memory alike.
# The fits of 139 shapes in 150 steps differed by 0.0003 (TensorFlow 2.15 on a busy machine).
_ALIKE = 0.005
_WARM_UP = 0.1  # of the loop: memory rises for other reasons there
# oneDNN keeps 1024 primitives, and TensorFlow as many of each kind: past that memory stops growing.
_MOST_KEPT = 1024


class ShapeChurn(Cause):
    """
    What happens
    The batches come in ever new shapes: a length or a size that changes with every step.

    Why it is slow
    Kernels keep what they prepare for each shape (primitives, plans, scratch space). A new shape
    is prepared first, and what was prepared for the old ones stays in memory, up to about a
    thousand shapes.

    The fix
    Use few shapes: pad each batch to one of a few lengths (`bucket_by_sequence_length` with
    `pad_to_bucket_boundary=True`), or to a multiple of 16 or 64, and mask the padding.

    When we are wrong
    Padding is computed on, too. Where lengths differ a lot and new shapes cost little, it loses
    more than it gains; the finding says what a new shape costs.
    """

    title = "tensor shapes change all the time"
    reads = (Batch, UnusualCall)
    deeper_than = ("native-growth",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            churn = churn_of(run, loop)
            held = _held(run, loop)
            if churn is not None or held is not None:
                yield self._finding(run, loop, churn, held)

    def _finding(self, run: Run, loop: Loop, churn: Churn | None, held: _Held | None) -> Finding:
        costs: list[str] = []
        evidence: list[Evidence] = []
        shapes = held.shapes if held is not None else 0
        if churn is not None:
            shapes = churn.distinct
            costs.append(f"each new one adds {say.time(churn.extra)} to its step")
            evidence += churn.evidence()
        else:
            evidence.append(Evidence("different shapes", shapes))
        if held is not None:
            costs.append(f"each keeps {say.size(held.each)} of memory")
            kept = held.each * held.shapes
            evidence.append(Evidence("memory kept per new shape", held.each, "B"))
            evidence.append(Evidence("memory that rose with the shapes", kept, "B"))
        known = churn or Churn(shapes, loop.steps, extra=0.0, first=(), last=())
        return Finding(
            cause=self.id,
            title=f"{shapes} different shapes in {loop.steps} steps: {' and '.join(costs)}",
            location=say.place(run, loop.update),
            seconds=known.seconds,
            evidence=tuple(evidence),
            grows=held is not None,
            forecast=held.forecast(loop) if held is not None else None,
            certainty=Certainty.LIKELY,
            advice=known.advice(),
        )


@dataclass(frozen=True)
class _Held:
    """Memory that rises with the number of shapes seen."""

    shapes: int
    each: float
    last: float

    def forecast(self, loop: Loop) -> Forecast:
        most = min(_MOST_KEPT, self.shapes * 10)
        return Forecast(
            step=round(loop.steps * most / self.shapes),
            bytes=self.last + self.each * (most - self.shapes),
            text=f"memory stops growing after about {_MOST_KEPT:,} shapes",
        )


def _held(run: Run, loop: Loop) -> _Held | None:
    """Memory that follows the shapes seen, and not the steps, which go on without new shapes."""
    times = [time for time, _ in new_shapes(run, loop)]
    ticks, memory = during(run, loop, "rss")
    warm = ticks >= loop.start + _WARM_UP * (loop.stop - loop.start)
    ticks, memory = ticks[warm], memory[warm]
    if len(times) < _FEWEST_SHAPES or len(ticks) < _FEWEST_READINGS:
        return None
    shapes, steps = np.searchsorted(times, ticks), np.searchsorted(loop.end, ticks)
    if shapes[-1] - shapes[0] < _FEWEST_SHAPES / 2:
        return None
    each, fit = _line(shapes.astype(float), memory)
    _, fit_of_steps = _line(steps.astype(float), memory)
    least = max(_LEAST_EACH, _WORTH_BYTES / len(times))
    is_by_shapes = fit >= max(_GOOD_FIT, fit_of_steps - _ALIKE)
    if each < least or not is_by_shapes:
        return None
    return _Held(len(times) + 1, each, float(memory[-1]))


def _line(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Slope of a straight line through points, and the share of their variance that it explains."""
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0, 0.0
    slope = float(np.polyfit(x, y, 1)[0])
    return slope, float(np.corrcoef(x, y)[0, 1] ** 2)


def _batches(steps: Iterable[int]) -> list[Placed]:
    return [
        at(step, Batch(shapes=((8, 20 + step, 64),), distinct=step, name="Model")) for step in steps
    ]


_RISING = [1e9 + 4e6 * min(step, 60) for step in range(0, 100)]

ShapeChurn.FIRES = (
    Sketch(
        "every second step brings a new shape and takes half as long again",
        seconds=[0.03, 0.02] * 60,
        facts=_batches(range(1, 121, 2)),
    ),
    Sketch(
        "shapes cost no time, but memory follows them",
        seconds=[0.02] * 100,
        before=0.0,
        facts=_batches(range(1, 61)),
        ticks={"rss": _RISING},
    ),
    Sketch(
        "memory rises while nearly every step brings a new shape",
        seconds=[0.02] * 150,
        before=0.0,
        facts=_batches(step for step in range(1, 151) if step % 14),
        ticks={"rss": [1e9 + 2e6 * step for step in range(150)]},
    ),
)
ShapeChurn.QUIET = (
    Sketch(
        "new shapes that cost nothing",
        seconds=[0.02, 0.0201, 0.0199] * 40,
        facts=_batches(range(1, 121, 2)),
    ),
    Sketch("two shapes in turn", seconds=[0.03, 0.02] * 60, facts=_batches([1, 2])),
    Sketch(
        "memory that rises with the steps, whether or not the shapes are new",
        seconds=[0.02] * 100,
        before=0.0,
        facts=_batches(range(1, 61)),
        ticks={"rss": [1e9 + 2e6 * step for step in range(100)]},
    ),
)
