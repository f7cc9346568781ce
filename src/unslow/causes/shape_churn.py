"""Batches whose shapes keep changing: kernels prepare for each new shape, and keep it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.graphs.new_shapes import Churn, churn_of, new_shapes
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause
from unslow.facts.functions import UnusualCall
from unslow.facts.memory import Batch
from unslow.model import Certainty, Evidence, Finding, Forecast, Loop, Run

_FEWEST = 30  # shapes below which memory that rose with them may have risen for any reason
_WORTH_BYTES = 50e6
_EACH_BYTES = 100e3  # a shape that keeps less than this cannot be told from chance
# oneDNN keeps 1024 primitives, and TensorFlow as many of each kind: past that memory stops growing.
_KEPT = 1024


class ShapeChurn(Cause):
    """
    What happens
    The batches come in ever new shapes: a length or a size that changes with every step.

    Why it is slow
    Kernels keep what they have prepared per shape (primitives, plans, scratch space). A shape
    that was never seen before has it prepared anew, and what was prepared for the old ones
    stays in memory, up to some thousand shapes.

    The fix
    Let there be few shapes: pad each batch to one of a few lengths (`bucket_by_sequence_length`
    with `pad_to_bucket_boundary=True`), or to a multiple of 16 or 64, and mask what was added.

    When we are wrong
    Padding computes on what it added. Where lengths differ by much and new shapes cost little,
    it loses more than it gains: the numbers say what a new shape costs here.
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
        shapes = churn.distinct if churn is not None else held.shapes if held is not None else 0
        parts, evidence = (
            [],
            list(
                churn.evidence() if churn is not None else (Evidence("different shapes", shapes),)
            ),
        )
        if churn is not None:
            parts.append(f"each new one adds {say.time(churn.extra)} to its step")
        forecast = None
        if held is not None:
            parts.append(f"each keeps {say.size(held.each)} of memory")
            evidence += [
                Evidence("memory kept per new shape", held.each, "B"),
                Evidence("memory that rose with the shapes", held.each * held.shapes, "B"),
            ]
            most = min(_KEPT, held.shapes * 10)
            forecast = Forecast(
                step=round(loop.steps * most / held.shapes),
                bytes=held.last + held.each * (most - held.shapes),
                text=f"memory stops growing after some {_KEPT} shapes",
            )
        advice = (
            churn.advice() if churn is not None else Churn(shapes, loop.steps, 0.0, (), ()).advice()
        )
        return Finding(
            cause=self.id,
            title=f"{shapes} different shapes in {loop.steps} steps: {' and '.join(parts)}",
            location=say.place(run, loop.update),
            seconds=churn.seconds if churn is not None else 0.0,
            evidence=tuple(evidence),
            grows=held is not None,
            forecast=forecast,
            certainty=Certainty.LIKELY,
            advice=advice,
        )


@dataclass(frozen=True)
class _Held:
    """Memory that rises with the number of shapes seen."""

    shapes: int
    each: float
    last: float


def _held(run: Run, loop: Loop) -> _Held | None:
    """Memory that follows the shapes seen, and not the steps, which go on without new shapes."""
    times = np.array([time for time, _ in new_shapes(run, loop)])
    process = next((each for each in run.processes if each.index == loop.process), None)
    if process is None or len(times) < _FEWEST or "rss" not in process.ticks.columns:
        return None
    ticks, rss = process.ticks.time, process.ticks.columns["rss"]
    inside = (ticks >= loop.start + 0.1 * (loop.stop - loop.start)) & (ticks <= loop.stop)
    if inside.sum() < 8:
        return None
    seen, memory, steps = (
        np.searchsorted(times, ticks[inside]),
        rss[inside],
        np.searchsorted(loop.end, ticks[inside]),
    )
    if seen[-1] - seen[0] < _FEWEST / 2:
        return None
    by_shapes, fit = _line(seen.astype(float), memory)
    _, fit_steps = _line(steps.astype(float), memory)
    total = by_shapes * len(times)
    if by_shapes < _EACH_BYTES or total < _WORTH_BYTES or fit < 0.8 or fit < fit_steps:
        return None
    return _Held(len(times) + 1, by_shapes, float(memory[-1]))


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
