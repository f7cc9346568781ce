"""Series for charts: few enough points to be smooth, chosen so that no spike is lost."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from unslow.model import Loop, Phase, Run, Shape
from unslow.report import words
from unslow.report.rows import FindingRow
from unslow.report.words import Row

if TYPE_CHECKING:
    from unslow.model import Floats, Ints

POINTS = 4000  # for all loops together: more than a screen has columns, and panning is smooth
LEAST_POINTS = 400  # points of any one loop: more than a narrow screen has columns
DRAWN = 8  # loops with a chart of their own, longest first
# Largest over median step time above which a linear axis would hide the body of the steps.
LOG_SCALE_FROM = 20.0
FORWARD = 0.2  # part of the loop's length by which a forecast is drawn on


def step_charts(
    run: Run, findings: list[FindingRow], shown: Collection[int] = frozenset()
) -> list[Row]:
    """One chart per loop with at least two rows, in the order of the loops.

    `shown`: the processes of a job whose loops are drawn; otherwise those of all.
    """
    drawn = [loop for loop in run.loops if not shown or loop.process in shown]
    charted = [loop for loop in drawn if len(loop.end) > 1]
    longest = sorted(charted, key=lambda loop: -loop.total)[:DRAWN]
    points = max(LEAST_POINTS, POINTS // max(1, len(longest)))
    forecasts = _forecasts(run, findings)
    return [
        step_chart(number, loop, points, forecasts.get(number))
        for number, loop in enumerate(run.loops)
        if loop in longest
    ]


def step_chart(number: int, loop: Loop, points: int, forecast: Row | None) -> Row:
    """Mean, least and greatest step time and phases by step; an outlying first step is left out."""
    first = int(len(loop.end) > 10 and loop.count[0] == 1 and loop.seconds[0] > 3 * loop.typical())
    starts = bucket_starts(len(loop.end) - first, points) + first
    single = loop.count == 1
    weights = loop.count.astype(float)
    total = np.add.reduceat(weights, starts)
    shown = [phase for phase in Phase if loop.phase(phase) >= 0.005 * loop.total]
    high = np.maximum.reduceat(np.where(single, loop.seconds, loop.high), starts)
    mean = np.add.reduceat(loop.seconds * weights, starts) / total
    ends = np.append(starts[1:], len(loop.end)) - 1
    return {
        "loop": number,
        "line": str(loop.location),
        "process": loop.process,
        "x": [int(value) for value in loop.number[ends]],
        "time": short(loop.end[ends]),
        "mean": short(mean),
        "low": short(np.minimum.reduceat(np.where(single, loop.seconds, loop.low), starts)),
        "high": short(high),
        "merged": len(starts) < len(loop.end) - first or bool((loop.count > 1).any()),
        "phases": [
            {
                "phase": phase.name.lower(),
                "label": words.PHASES[phase.name.lower()],
                "values": short(np.add.reduceat(loop.phases[:, phase] * weights, starts) / total),
            }
            for phase in sorted(shown, key=loop.phase, reverse=True)
        ],
        "log": bool(high.max() > LOG_SCALE_FROM * max(1e-12, float(np.median(mean)))),
        "first_left_out": float(loop.seconds[0]) if first else None,
        "trend": _trend_lines(loop),
        "forecast": forecast,
    }


def bucket_starts(rows: int, points: int) -> Ints:
    """Where each of at most `points` groups of rows begins."""
    starts: Ints = np.linspace(0, rows, min(rows, points) + 1).astype(np.int64)[:-1]
    return starts


def short(values: Floats) -> list[float | None]:
    """Four digits are more than a screen shows, and a quarter of the page's size."""
    return [float(f"{value:.4g}") if math.isfinite(value) else None for value in values.tolist()]


def _trend_lines(loop: Loop) -> Row:
    """The trend as points to join: [step, seconds]."""
    trend, steps = loop.trend, loop.steps
    lines: list[list[list[float]]] = []
    if trend.shape is Shape.STEADY:
        lines = [[[1, trend.after], [steps, trend.after]]]
    elif trend.shape is Shape.DRIFTING:
        lines = [[[1, trend.before], [steps, trend.after]]]
    elif trend.shape is Shape.JUMPED and trend.at_step is not None:
        lines = [
            [[1, trend.before], [trend.at_step, trend.before]],
            [[trend.at_step, trend.after], [steps, trend.after]],
        ]
    return {"shape": trend.shape.value, "lines": lines, "at_step": trend.at_step}


def _forecasts(run: Run, findings: list[FindingRow]) -> dict[int, Row]:
    """A forecast is drawn into the longest drifting loop: a finding does not name its loop."""
    drifting = [
        number for number, loop in enumerate(run.loops) if loop.trend.shape is Shape.DRIFTING
    ]
    growing = [finding["forecast"] for finding in findings if finding["grows"]]
    slower = [
        (forecast["step"], forecast["step_seconds"])
        for forecast in growing
        if forecast is not None and forecast["step_seconds"]
    ]
    if not drifting or not slower:
        return {}
    number = max(drifting, key=lambda each: run.loops[each].total)
    loop = run.loops[number]
    step, seconds = slower[0]
    upto = min(step, int(loop.steps * (1 + FORWARD)))
    if upto <= loop.steps:
        return {}
    # From the end of the run towards the forecast, cut where the chart ends.
    part = (upto - loop.steps) / (step - loop.steps)
    there = loop.trend.after + part * (seconds - loop.trend.after)
    label = f"→ {words.seconds(seconds)} at step {step:,}"
    return {number: {"points": [[loop.steps, loop.trend.after], [upto, there]], "label": label}}
