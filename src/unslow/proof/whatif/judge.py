"""From trials to rows: figures with their intervals, and verdicts that noise cannot buy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unslow.analyse.stats.growth import bootstrap_ratio
from unslow.analyse.stats.robust import student
from unslow.proof.prove import ALWAYS_SAME
from unslow.proof.trials import Trial, difference
from unslow.proof.whatif.measure import Bench, factor, opening, steady
from unslow.proof.whatif.settings import Setting

BETTER = 1.05  # less is not worth a line
_SETTLED = 1.10  # an interval inside of this says that there is no difference


@dataclass(frozen=True)
class Figure:
    """A value with its 95 % interval over trials; NaN ends where there was one trial only."""

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Row:
    """What one setting brought. `speedup` over 1 is faster: by examples, where the batch was another one."""

    setting: Setting | None  # None: the script as it is
    step: Figure
    example: Figure | None
    speedup: Figure
    memory: Figure
    first: Figure
    verdict: str  # faster, slower, no difference, unsure
    promising: bool  # every trial beat every trial of the script as it is: worth some more
    lighter: bool  # surely less memory
    results: str  # identical, same, rounding, differ, not compared, not seen
    difference: float | None
    noise: float | None
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
    base = [steady(trial) for trial in bench.base]
    ratio = Figure(*bootstrap_ratio(base, paces)) if setting else Figure(1.0)
    results, found, noise = _results(bench, setting, trials[0])
    per_step = figure([steady(trial) for trial in trials])
    memory = [trial.peak for trial in trials]
    return Row(
        setting=setting,
        step=per_step,
        example=figure([pace / examples for pace in paces]) if examples else None,
        speedup=ratio,
        memory=figure(memory),
        first=figure([first_cost(trial) for trial in trials]),
        verdict=_verdict(ratio, base, paces) if setting else "as it is",
        promising=setting is not None and ratio.value >= BETTER and min(base) > max(paces),
        lighter=setting is not None and _is_less(memory, [trial.peak for trial in bench.base]),
        results=results,
        difference=found,
        noise=noise,
        trials=len(trials),
    )


def _verdict(ratio: Figure, base: Sequence[float], own: Sequence[float]) -> str:
    if ratio.value >= BETTER and ratio.low > 1 and min(base) > max(own):
        return "faster"
    if ratio.value <= 1 / BETTER and ratio.high < 1 and min(own) > max(base):
        return "slower"
    if ratio.low > 1 / _SETTLED and ratio.high < _SETTLED:
        return "no difference"
    return "unsure"


def _is_less(own: Sequence[float], base: Sequence[float]) -> bool:
    enough = len(own) >= 2 and len(base) >= 2
    return enough and max(own) < min(base) and float(np.median(base) / np.median(own)) >= BETTER


def _results(
    bench: Bench, setting: Setting | None, trial: Trial
) -> tuple[str, float | None, float | None]:
    """Weights after the same steps with the same seeds, against what the script's own weights differ by."""
    one = bench.base[0]
    again = [difference(one.weights, other.weights) for other in bench.base[1:]]
    noise = max((value for value in again if value is not None), default=0.0)
    if setting is None:
        return (
            ("not seen" if not one.weights else "identical" if noise == 0 else "same"),
            noise,
            noise,
        )
    if setting.changes:
        return "not compared", None, None
    if trial.steps != one.steps:
        return "not compared", None, None
    found = difference(one.weights, trial.weights)
    if found is None:
        return "not seen", None, None
    if found == 0:
        return "identical", found, noise
    if found <= max(3 * noise, ALWAYS_SAME):
        return "same", found, noise
    if math.isfinite(found):
        noise = max(noise, difference(one.weights, bench.nudge().weights) or 0.0)
    return ("rounding" if found <= 10 * noise else "differ"), found, noise
