"""Interleaved trials of before and after, and a verdict that noise cannot buy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unslow.analyse.stats.growth import Slope, bootstrap_ratio, slope
from unslow.errors import UnslowError
from unslow.model import Finding, Growth, Proof, Run, Verdict
from unslow.proof.trials import Side, Trial, difference, run_trial

PAIRS = 5  # at most so many trials of each side
_EARLY = 3  # a large and clear difference is called after so many
_CLEAR = 1.5  # between the nearest two; simulated: with less, a busy machine proves a script against itself
_FASTER = 1.10  # less is not worth a change of somebody's code
_SECONDS = 10.0  # what one trial should take, start included
_START = 5.0  # importing TensorFlow and building a model, roughly
ROUNDING = 1e-7  # a change of the weights by less than a float32 can hold
ALWAYS_SAME = 1e-5  # differences below this are rounding in any training
_LEAST_STEPS = 5
_ADAPTED = 3  # times that the number of steps is changed so that both sides can end there

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Question:
    """What is to be proved: steady speed, the whole run with its first step, or that a growth is gone."""

    steps: int
    whole: bool = False
    grows: bool = False


def steps_for(run: Run, seconds: float = _SECONDS) -> int:
    """So many steps that one trial takes about ten seconds, and no more than the run had."""
    typical = max((loop.typical() for loop in run.loops), default=0.0)
    if typical <= 0:
        return _LEAST_STEPS
    return max(_LEAST_STEPS, min(run.steps, int((seconds - _START) / typical)))


def question_for(run: Run, finding: Finding, steps: int | None = None) -> Question:
    """What must be shown for a finding's fix: where its cost lies, and whether it grows."""
    return Question(
        steps or steps_for(run), whole=bool(finding.facts.get("first_step")), grows=finding.grows
    )


def prove(
    before: Side, after: Side, question: Question, progress: Progress = lambda text: None
) -> Proof:
    """Run A B B A … until the answer is clear, or enough has been tried."""
    sides: tuple[list[Trial], list[Trial]] = ([], [])
    pair = adapted = 0
    while pair < PAIRS:
        for which in (0, 1) if pair % 2 == 0 else (1, 0):
            trial = run_trial((before, after)[which], question.steps)
            _must_have_trained(trial, ("before", "after")[which], question)
            sides[which].append(trial)
            progress(
                f"trial {len(sides[0]) + len(sides[1])} ({('before', 'after')[which]}): {_said(trial, question)}"
            )
        ends = sorted((sides[0][0].steps, sides[1][0].steps))
        if pair == 0 and ends[0] < ends[1] and adapted < _ADAPTED:
            adapted += 1
            # A side that takes several steps in one go may end a few later: the other can go as far.
            common = ends[0] if ends[0] < question.steps else ends[1]
            progress(f"one side ends after {common} steps: both are compared there")
            question = replace(question, steps=common)
            sides = ([], [])
            continue
        pair += 1
        if pair >= _EARLY and _is_clear(_figures(sides[0], question), _figures(sides[1], question)):
            break
    return _judge(sides, before, question, progress)


def _said(trial: Trial, question: Question) -> str:
    return f"{_figure(trial, question) * 1e3:.3g} ms a step over {trial.steps} steps, first {trial.first:.2f} s"


def _must_have_trained(trial: Trial, name: str, question: Question) -> None:
    if trial.ended == "killed by SIGINT":
        raise KeyboardInterrupt
    if not trial.ended.startswith("exit 0"):
        last = [line for line in trial.errors.splitlines() if line.strip()][-1:]
        why = f"it ended with {trial.ended}{': ' + last[0].strip() if last else ''}"
        raise UnslowError(
            f"the script {name} the change fails",
            why,
            "Run it by itself to see all of it.",
            "cannot-prove",
        )
    if trial.steps < min(_LEAST_STEPS, question.steps):
        raise UnslowError(
            f"the script {name} the change does not train",
            f"only {trial.steps} steps were seen",
            "Both sides must train for a comparison.",
            "cannot-prove",
        )


def _figure(trial: Trial, question: Question) -> float:
    return trial.whole if question.whole else trial.steady


def _figures(trials: Sequence[Trial], question: Question) -> list[float]:
    return [_figure(trial, question) for trial in trials]


def _is_clear(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether more trials would not change the answer: the nearest two are far apart, and the interval says so, too."""
    _, low, high = bootstrap_ratio(before, after)
    faster = low > 1.0 and min(before) >= _CLEAR * max(after)
    return faster or (high < 1.0 and min(after) >= _CLEAR * max(before))


def _judge(
    sides: tuple[list[Trial], list[Trial]], before: Side, question: Question, progress: Progress
) -> Proof:
    first, second = _figures(sides[0], question), _figures(sides[1], question)
    ratio, low, high = bootstrap_ratio(first, second)
    found, noise, same = _results(sides, before, question, progress)
    growth = _growth_gone(sides) if question.grows else None
    if not same:
        verdict = Verdict.RESULTS_DIFFER
    elif growth or (ratio >= _FASTER and low > 1.0 and _apart(first, second)):
        verdict = Verdict.PROVED
    elif ratio <= 1 / _FASTER and high < 1.0 and _apart(second, first):
        verdict = Verdict.SLOWER
    elif low > 1 / _FASTER and high < _FASTER:
        verdict = Verdict.NO_EFFECT
    else:
        verdict = Verdict.UNSURE
    return Proof(
        verdict=verdict,
        speedup=ratio,
        low=low,
        high=high,
        before=tuple(first),
        after=tuple(second),
        steps=min(trial.steps for trial in sides[0] + sides[1]),
        difference=found,
        noise=noise,
        text=_words(verdict, ratio, low, high, first, second, found, noise, growth),
        growth=growth,
    )


def _apart(slow: Sequence[float], fast: Sequence[float]) -> bool:
    """With few trials a bootstrap is sure too soon: every fast one must beat every slow one, too.

    Of five and five, one pair may be the other way round: one burst of other work does that. A script against itself
    then comes out as faster or slower in fewer than one of a hundred proofs (simulated, on machines that wander).
    """
    reversed_pairs = sum(quick >= late for late in slow for quick in fast)
    return reversed_pairs <= (1 if min(len(slow), len(fast)) >= PAIRS else 0)


def _results(
    sides: tuple[list[Trial], list[Trial]], before: Side, question: Question, progress: Progress
) -> tuple[float | None, float | None, bool]:
    """Weights after the same steps: before against after, and before against itself."""
    one, other = sides[0][0], sides[1][0]
    found = difference(one.weights, other.weights)
    if found is None:
        return None, None, True
    again = sides[0][1] if len(sides[0]) > 1 else run_trial(before, question.steps)
    noise = difference(one.weights, again.weights) or 0.0
    if found <= max(3 * noise, ALWAYS_SAME):
        return found, noise, True
    if found == float("inf"):
        return found, noise, False
    progress(
        "the weights differ: one more trial shows what rounding alone becomes in this training"
    )
    nudged = run_trial(before, question.steps, nudge=ROUNDING)
    noise = max(noise, difference(one.weights, nudged.weights) or 0.0)
    return found, noise, found <= 10 * noise


def _growth_gone(sides: tuple[list[Trial], list[Trial]]) -> Growth | None:
    """The step time, the memory or the files that grew before and do not after, by slope."""
    for name, rate in _GROWTHS.items():
        before, after = (rate(side) for side in sides)
        if (
            before is not None
            and after is not None
            and before.low > 0
            and abs(after.value) <= 0.2 * before.value
        ):
            return Growth(name, before.value, after.value)
    return None


def _step_time(trials: Sequence[Trial]) -> Slope | None:
    """Of each step's median over the trials, and as sure as all of them but one: a busy machine can turn one around."""
    steps = min(len(trial.seconds) for trial in trials)
    rows = [trial.seconds[1:steps] for trial in trials]
    middle, *each = (_slope(np.arange(steps - 1), row) for row in (np.median(rows, axis=0), *rows))
    sure = sorted(one.low for one in each if one is not None)
    if middle is None or not sure:
        return None
    return Slope(middle.value, min(middle.low, *sure[1:2] or sure), middle.high)


def _together(slopes: Sequence[Slope | None]) -> Slope | None:
    """The typical one, as sure as the least sure of them."""
    seen = [one for one in slopes if one is not None]
    if len(seen) < len(slopes):
        return None
    value = float(np.median([one.value for one in seen]))
    return Slope(value, min(one.low for one in seen), max(one.high for one in seen))


_GROWTHS: Mapping[str, Callable[[Sequence[Trial]], Slope | None]] = {
    "step time": _step_time,
    "memory": lambda trials: _together([_slope(trial.rss_steps, trial.rss) for trial in trials]),
    "what is on the disk": lambda trials: _together(
        [_late_rate(trial.files_steps, trial.files) for trial in trials]
    ),
}


def _slope(x: np.ndarray, y: np.ndarray) -> Slope | None:
    return slope(x, y) if len(x) >= 8 else None


def _late_rate(x: np.ndarray, y: np.ndarray) -> Slope | None:
    """What is gained per step in the second half: who keeps the last few files gains until there are so many.

    Bytes of files are counted, so there is no interval to it.
    """
    late = x >= x[-1] / 2 if len(x) else np.zeros(0, dtype=bool)
    if np.count_nonzero(late) < 3 or x[late][-1] <= x[late][0]:
        return None
    rate = float((y[late][-1] - y[late][0]) / (x[late][-1] - x[late][0]))
    return Slope(rate, rate, rate)


def _words(
    verdict: Verdict,
    ratio: float,
    low: float,
    high: float,
    first: Sequence[float],
    second: Sequence[float],
    found: float | None,
    noise: float | None,
    growth: Growth | None,
) -> str:
    speed = (
        f"{np.median(first) * 1e3:.3g} → {np.median(second) * 1e3:.3g} ms a step, {ratio:.2f}× "
        f"({low:.2f} to {high:.2f}) over {len(first)} + {len(second)} runs"
    )
    if found is None:
        results = "the weights could not be compared"
    elif found == 0:
        results = "the weights are identical"
    elif found == float("inf"):
        results = "the weights are others, in number or shape"
    else:
        results = f"the weights differ by {found:.1e} (before against itself: {noise or 0:.1e})"
    parts = [speed, _grown(growth), results] if growth else [speed, results]
    return f"{verdict.value.upper().replace(' ', '_')}: {'; '.join(parts)}"


def _grown(growth: Growth) -> str:
    unit, scale = ("ms", 1e6) if growth.what == "step time" else ("MB", 1e-3)
    before, after = (
        f"{rate:,.0f}" if abs(rate) >= 100 else f"{rate:.2g}"
        for rate in (growth.before * scale, growth.after * scale)
    )
    return f"{growth.what} grew by {before} {unit} per 1 000 steps, and by {after} after"
