"""From trials to rows: figures with their intervals, and verdicts that noise cannot reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unslow.analyse.stats.growth import bootstrap_ratio
from unslow.analyse.stats.robust import student
from unslow.proof.prove import ALWAYS_SAME
from unslow.proof.trials import Trial, difference
from unslow.proof.whatif.measure import Bench, factor, opening, steady
from unslow.proof.whatif.setting import Setting

BETTER = 1.05  # less is not worth a line
_SETTLED = 1.10  # an interval inside of this says that there is no difference


@dataclass(frozen=True)
class Figure:
    """A value with its 95% interval over trials; NaN ends where there was one trial only."""

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Results:
    """What became of the weights: identical, same, rounding, differ, not compared or not seen."""

    kind: str
    difference: float | None = None
    noise: float | None = None


@dataclass(frozen=True)
class Row:
    """What one setting gained. `speedup` over 1 is faster: by examples where the batch differs."""

    setting: Setting | None  # None: the script as it is
    step: Figure
    example: Figure | None
    speedup: Figure
    memory: Figure
    first: Figure
    verdict: str  # as it is, faster, slower, no difference, unsure
    promising: bool  # every trial beat every trial of the unchanged script: worth more trials
    lighter: bool  # surely less memory
    results: Results
    trials: int


def first_cost(trial: Trial) -> float:
    """Seconds that the opening took beyond the pace of the rest."""
    count = opening(trial)
    return max(0.0, float(trial.seconds[:count].sum()) - count * steady(trial))


def figure(values: Sequence[float]) -> Figure:
    kept = np.array([value for value in values if math.isfinite(value)])
    if not len(kept):
        return Figure(math.nan)
    centre = float(np.median(kept))
    if len(kept) < 2:
        return Figure(centre)
    reach = student(len(kept) - 1) * float(kept.std(ddof=1)) / math.sqrt(len(kept))
    return Figure(centre, centre - reach, centre + reach)


def row_of(bench: Bench, setting: Setting | None, examples: int) -> Row | None:
    """None where nothing was measured."""
    trials = bench.trials.get(setting.name if setting else "", [])
    if not trials or not bench.base:
        return None
    paces = [steady(trial) / factor(trial) for trial in trials]
    row = Row(
        setting=setting,
        step=figure([steady(trial) for trial in trials]),
        example=figure([pace / examples for pace in paces]) if examples else None,
        speedup=Figure(1.0),
        memory=figure([trial.peak for trial in trials]),
        first=figure([first_cost(trial) for trial in trials]),
        verdict="as it is",
        promising=False,
        lighter=False,
        results=_results(bench, setting, trials[0]),
        trials=len(trials),
    )
    if setting is None:
        return row
    base = [steady(trial) for trial in bench.base]
    ratio = Figure(*bootstrap_ratio(base, paces))
    return replace(
        row,
        speedup=ratio,
        verdict=_verdict(ratio, base, paces),
        promising=ratio.value >= BETTER and min(base) > max(paces),
        lighter=_is_less([trial.peak for trial in trials], [trial.peak for trial in bench.base]),
    )


def _verdict(ratio: Figure, base: Sequence[float], own: Sequence[float]) -> str:
    faster = ratio.value >= BETTER and ratio.low > 1
    slower = ratio.value <= 1 / BETTER and ratio.high < 1
    if faster and min(base) > max(own):
        return "faster"
    if slower and min(own) > max(base):
        return "slower"
    settled = ratio.low > 1 / _SETTLED and ratio.high < _SETTLED
    return "no difference" if settled else "unsure"


def _is_less(own: Sequence[float], base: Sequence[float]) -> bool:
    if min(len(own), len(base)) < 2 or max(own) >= min(base):
        return False
    return float(np.median(base) / np.median(own)) >= BETTER


def _results(bench: Bench, setting: Setting | None, trial: Trial) -> Results:
    """Weights after the same steps, against what the script's own weights differ by."""
    one = bench.base[0]
    again = [difference(one.weights, other.weights) or 0.0 for other in bench.base[1:]]
    noise = max(again, default=0.0)
    if setting is None:
        return _own_results(one, noise)
    if setting.changes or trial.steps != one.steps:
        return Results("not compared")
    found = difference(one.weights, trial.weights)
    if found is None:
        return Results("not seen")
    if found == 0:
        return Results("identical", found, noise)
    if found <= max(3 * noise, ALWAYS_SAME):
        return Results("same", found, noise)
    if math.isfinite(found):
        noise = max(noise, difference(one.weights, bench.nudge().weights) or 0.0)
    return Results("rounding" if found <= 10 * noise else "differ", found, noise)


def _own_results(trial: Trial, noise: float) -> Results:
    if not trial.weights:
        return Results("not seen", noise, noise)
    return Results("identical" if noise == 0 else "same", noise, noise)
