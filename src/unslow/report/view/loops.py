"""A training loop as plain data: steps, phases, a sparkline and the trend in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse.input.data_times import NONE, DataTime
from unslow.analyse.loop_phases import rest_shares, split_phases
from unslow.model import Loop, Run, Shape
from unslow.report import words
from unslow.report.rows import BarRow, LoopRow, SparklineRow, TrendRow
from unslow.report.view.findings import location_of

if TYPE_CHECKING:
    from unslow.model import Floats

BARS = 44  # columns of a sparkline: leaves room for both of its ends in 80 columns
WIDE = 12.0  # largest over typical step time above which a linear sparkline looks flat
_FAR_ABOVE = 1.25  # times the median step: then the mean stands beside it (judgement)
APART = 3.0  # typical steps: a longer first step is reported by itself

STYLES = {
    "predict": "predict",
    "data": "dataset",
    "session": "Session.run loop",
    "schedule": "loop that schedules steps",
    "function": "tf.function loop",
    "eager": "eager loop",
    "keras": "Keras fit",
}


def loop_of(run: Run, loop: Loop, data: DataTime = NONE) -> LoopRow:
    total, typical = loop.total, loop.typical()
    first = float(loop.seconds[0]) if len(loop.seconds) else 0.0
    return {
        "line": str(loop.location),
        "update": str(loop.update),
        "location": location_of(run, loop.location),
        "style": loop.style,
        "kind": STYLES.get(loop.style, loop.style) + ("" if loop.trains else ", without training"),
        "process": loop.process,
        "worker": run.process_of(loop).worker,
        "steps": loop.steps,
        "seconds": total,
        "typical": typical,
        "first": first,
        "first_apart": first > APART * typical,
        "updates_per_step": loop.updates_per_step,
        "phases": split_phases(loop, data),
        "bars": phase_bars(loop, data, rest_shares(loop, run.samples)),
        "trend": trend_of(loop),
        "sparkline": sparkline_of(loop),
    }


def phase_bars(
    loop: Loop, data: DataTime = NONE, rest: Mapping[str, float] | None = None
) -> list[BarRow]:
    """The phases worth a bar, largest first; those below 0.5% are one."""
    total = loop.total
    rows = []
    small = 0.0
    for name, seconds in split_phases(loop, data, rest).items():
        if total > 0 and seconds >= 0.005 * total:
            rows.append(_bar(name, words.PHASES[name], seconds, loop))
        else:
            small += max(0.0, seconds)
    rows.sort(key=lambda row: -row["seconds"])
    if total > 0 and small >= 0.001 * total:
        rows.append(_bar("rest", "the rest", small, loop))
    return rows


def _bar(name: str, label: str, seconds: float, loop: Loop) -> BarRow:
    return {
        "phase": name,
        "label": label,
        "seconds": seconds,
        "share": seconds / loop.total,
        "per_step": seconds / loop.steps,
    }


def trend_of(loop: Loop) -> TrendRow:
    trend = loop.trend
    return {
        "shape": trend.shape.value,
        "before": trend.before,
        "after": trend.after,
        "change": trend.change,
        "slope": trend.slope,
        "slope_low": trend.slope_low,
        "slope_high": trend.slope_high,
        "at_step": trend.at_step,
        "period": trend.period,
        "spike": trend.spike,
        "text": trend_text(loop),
    }


def pace(loop: Loop) -> str:
    """What a step takes: the median, and the mean where a few long steps set it apart."""
    usual = loop.trend.after
    rows = loop.steady()
    mean = float(np.average(rows, weights=loop.count[-len(rows) :])) if len(rows) else usual
    beside = f" ({words.seconds(mean)} on average)" if mean > _FAR_ABOVE * usual else ""
    return f"{words.seconds(usual)} a step{beside}"


def trend_text(loop: Loop) -> str:
    trend = loop.trend
    before, after = words.seconds(trend.before), words.seconds(trend.after)
    if trend.shape is Shape.STEADY:
        return f"steady at {pace(loop)}"
    if trend.shape is Shape.DRIFTING:
        # A step that gets shorter cannot go on like that: it has no rate.
        rate = f", +{words.seconds(trend.slope * 1000)} per 1,000 steps" if trend.slope > 0 else ""
        return f"drifting from {before} to {after} a step ({_signed(trend.change)}{rate})"
    if trend.shape is Shape.JUMPED:
        at = f" at step {trend.at_step:,}" if trend.at_step is not None else ""
        verb = "jumped" if trend.change > 0 else "dropped"
        return f"{verb}{at} from {before} to {after} a step ({_signed(trend.change)})"
    if trend.shape is Shape.PERIODIC and trend.period:
        long_steps = f"every {words.ordinal(trend.period)} step takes {words.seconds(trend.spike)}"
        return f"{long_steps}, the others {after}"
    return "too few steps for a trend"


def _signed(change: float) -> str:
    return ("+" if change > 0 else "") + words.share(change)


def sparkline_of(loop: Loop) -> SparklineRow:
    """Step time without the first step in equal groups, with the scale that shows its shape."""
    seconds = loop.steady()
    if not len(seconds):
        return {"values": [], "scale": "linear", "low": 0.0, "high": 0.0}
    weights = loop.count[-len(seconds) :].astype(float)
    low = np.inf
    starts = np.linspace(0, len(seconds), min(len(seconds), BARS) + 1).astype(int)[:-1]
    if loop.trend.shape is Shape.PERIODIC:
        # A mean would hide the long steps that the trend is about.
        values = np.maximum.reduceat(loop.high[-len(seconds) :], starts)
        values = np.where(
            values > (loop.trend.after + loop.trend.spike) / 2,
            values,
            _means(seconds, weights, starts),
        )
        low = float(loop.low[-len(seconds) :].min())  # of the steps in between, beside the trend
    else:
        values = _means(seconds, weights, starts)
    typical = float(np.median(values))
    scale = "log" if typical > 0 and values.max() > WIDE * typical else "linear"
    return {
        "values": [float(value) for value in values],
        "scale": scale,
        "low": min(low, float(values.min())),
        "high": float(values.max()),
    }


def _means(seconds: Floats, weights: Floats, starts: np.ndarray) -> Floats:
    means: Floats = np.add.reduceat(seconds * weights, starts) / np.add.reduceat(weights, starts)
    return means
