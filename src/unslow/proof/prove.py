"""Interleaved trials of before and after, and a verdict that noise alone cannot reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from unslow.analyse.stats import pairs
from unslow.analyse.stats.growth import Slope, bootstrap_ratio, slope
from unslow.errors import UnslowError
from unslow.facts.memory import MemoryHigh
from unslow.model import Finding, Growth, Peak, Proof, Quality, Run, Verdict
from unslow.proof.budget import Budget, OutOfTime
from unslow.proof.quality import compare_quality
from unslow.proof.trials import Side, Trial, difference, run_trial
from unslow.proof.turns import run_in_turns
from unslow.report import words

PAIRS = 5  # trials of each side at most
_EARLY = 3  # pairs after which a large and clear difference ends the trials
# Between the nearest two trials. Simulated: with less, a busy machine proves a script against
# itself.
_CLEAR = 1.5
_FASTER = 1.10  # a smaller gain is not worth changing somebody's code (judgement)
_SECONDS = 10.0  # that one trial should take, its start included
_START = 5.0  # importing TensorFlow and building a model, roughly (measured on CPUs)
ROUNDING = 1e-7  # a relative change of the weights below the resolution of float32
ALWAYS_SAME = 1e-5  # differences below this are rounding in any training
# Where the ops of a step are computed in another order (a compiled step, XLA), every step rounds
# anew: sums over thousands of float32 numbers lose one or two of their seven digits. Measured:
# 1.0e-5 after the 8 steps of a convolutional network with Adam, with and without XLA.
_ROUNDED_PER_STEP = 2e-6
_MOST_ROUNDED = 1e-4  # however many steps: a learning rate that is 1 % off shows ten times that
_LEAST_STEPS = 5
_LIGHTER = 0.1  # of the peak: a smaller cut is not worth changing somebody's code (judgement)
_AT_PEAK = 0.95  # of the peak: what comes later adds too little to wait for it
TO_THE_END = 10**9  # steps: the program ends before
_MOST_ADAPTIONS = 3  # times that the number of steps is changed so that both sides can end there
_SIDES = ("before", "after")


class AfterFails(UnslowError):
    """The changed program ends with an error where the unchanged one does not."""


Progress = Callable[[str], None]
IsDecided = Callable[[Sequence[float], Sequence[float]], bool]


@dataclass(frozen=True)
class Question:
    """What to prove: that steps or the whole program are faster, or that a growth or a peak is
    gone."""

    steps: int
    whole: bool = False  # the first step counts, too
    grows: bool = False
    peak: bool = False
    # The cost lies outside of the steps, or there are too few of them: time the program to its end.
    program: bool = False
    pairs: int = PAIRS
    quality: bool = False  # other weights are no objection if the loss is as good
    in_turns: bool = False  # both trials of a pair run at once, a fraction of a second each in turn
    # Ends the trials early, given seconds per step before and after; by default a large and clear
    # difference does.
    is_decided: IsDecided | None = None
    budget: Budget = field(default_factory=Budget)

    @property
    def times_runs(self) -> bool:
        """Whether whole processes are timed instead of steps."""
        return self.peak or self.program


@dataclass
class _Trials:
    """The trials of both sides so far."""

    before: list[Trial] = field(default_factory=list)
    after: list[Trial] = field(default_factory=list)
    pair_seconds: float = 0.0  # that the last pair took, starts and copies included

    def figures(self, question: Question) -> tuple[list[float], list[float]]:
        """Seconds per step of each trial, before and after."""
        one, other = (
            [_figure(trial, question) for trial in side] for side in (self.before, self.after)
        )
        return one, other

    @property
    def every(self) -> list[Trial]:
        return [*self.before, *self.after]


@dataclass(frozen=True)
class _Results:
    """Weights after the same steps: before against after, before against itself, and the
    verdict."""

    difference: float | None
    noise: float | None
    same: bool


def steps_for(run: Run, seconds: float = _SECONDS) -> int:
    """As many steps as one trial of about ten seconds has, and no more than the run had."""
    typical = max((loop.typical() for loop in run.loops), default=0.0)
    if typical <= 0:
        return _LEAST_STEPS
    return max(_LEAST_STEPS, min(run.steps, int((seconds - _START) / typical)))


def question_for(run: Run, finding: Finding, steps: int | None = None) -> Question:
    """What must be shown for a finding's fix: where its cost lies, and whether it grows."""
    whole = finding.in_first_step
    if finding.frees > 0:
        return Question(max(steps or 0, _steps_to_peak(run)), whole, finding.grows, peak=True)
    if finding.stretch or run.steps < _LEAST_STEPS:
        return Question(TO_THE_END, whole, finding.grows, program=True)
    return Question(steps or steps_for(run), whole, finding.grows)


def _steps_to_peak(run: Run) -> int:
    """The steps that a process must do to reach its peak; the peak may also come after the last."""
    highs = list(run.facts(MemoryHigh))
    peak = max((high.bytes for high in highs), default=0.0)
    first = next((high for high in highs if high.bytes >= _AT_PEAK * peak), None)
    if first is None or first.step >= run.steps:
        return TO_THE_END
    return max(steps_for(run), first.step + 1)


def prove(
    before: Side, after: Side, question: Question, progress: Progress = lambda text: None
) -> Proof:
    """Run A B B A … until the answer is clear, enough has been tried, or the budget is spent."""
    sides, trials = (before, after), _Trials()
    try:
        question = _first_pair(trials, sides, question, progress)
        _more_pairs(trials, sides, question, progress)
        proof = _judge(trials, before, question, progress)
        if question.quality and proof.verdict is Verdict.RESULTS_DIFFER:
            proof = _by_quality(proof, sides, question, progress)
    except OutOfTime:
        return _unfinished(trials, question)
    return replace(proof, text="; ".join(_sentences(proof)))


def _more_pairs(
    trials: _Trials, sides: tuple[Side, Side], question: Question, progress: Progress
) -> None:
    """Raises where the budget ends before the answer is clear: too few trials prove nothing."""
    is_decided = question.is_decided or _is_clear
    while len(trials.before) < question.pairs:
        if is_decided(*trials.figures(question)) or _is_lighter(trials, question):
            return
        if not question.budget.allows(trials.pair_seconds):
            raise OutOfTime
        _run_pair(trials, sides, question, progress)


def failed(problem: AfterFails) -> Proof:
    """The verdict on a change after which the program fails."""
    text = f"RESULTS_DIFFER: {problem.what}: {problem.why}"
    verdict = Verdict.RESULTS_DIFFER
    return Proof(verdict, 1.0, 0.0, float("inf"), (), (), 0, None, None, text)


def _unfinished(trials: _Trials, question: Question) -> Proof:
    """What is known when the budget ends before there is an answer."""
    pairs = min(len(trials.before), len(trials.after))
    steps, ratio, low, high = 0, 1.0, 0.0, float("inf")
    before: tuple[float, ...] = ()
    after: tuple[float, ...] = ()
    if pairs:
        figures = trials.figures(question)
        before, after = (tuple(side[:pairs]) for side in figures)
        ratio, low, high = bootstrap_ratio(before, after)
        steps = min(trial.steps for trial in trials.every)
    unit = "a run" if question.times_runs else "a step"
    proof = Proof(Verdict.UNSURE, ratio, low, high, before, after, steps, None, None, "", unit=unit)
    known = "UNSURE: not even one run of each ended"
    if pairs == 1:
        known = f"UNSURE: {words.seconds(before[0])} → {words.seconds(after[0])} {unit} in one run of each"
    elif pairs:
        known = next(_sentences(proof))
    given = words.seconds(question.budget.seconds or 0.0)
    return replace(proof, text=f"{known}; stopped: the budget of {given} was spent")


def _by_quality(
    proof: Proof, sides: tuple[Side, Side], question: Question, progress: Progress
) -> Proof:
    """Other weights, as the fix says: proved if it is faster and trains as well over several
    seeds."""
    faster = _speed_verdict(proof.before, proof.after)
    if faster is not Verdict.PROVED and not proof.growth:
        return replace(proof, verdict=faster)
    progress("the weights differ, as this fix may: comparing the loss over several seeds")
    quality = compare_quality(sides, question.steps, question.budget, progress)
    same = quality is not None and quality.same
    verdict = Verdict.PROVED if same else Verdict.RESULTS_DIFFER
    return replace(proof, verdict=verdict, quality=quality)


def _first_pair(
    trials: _Trials, sides: tuple[Side, Side], question: Question, progress: Progress
) -> Question:
    """The first trial of each side, after a number of steps at which both can end.

    A side that takes several steps in one call may end a few later; the other one can go as far.
    """
    for _ in range(_MOST_ADAPTIONS + 1):
        trials.before.clear()
        trials.after.clear()
        _run_pair(trials, sides, question, progress)
        fewest, most = sorted(trial.steps for trial in trials.every)
        if fewest == most or question.program:
            break
        common = fewest if fewest < question.steps else most
        progress(f"one side ends after {common} steps: both are compared there")
        question = replace(question, steps=common)
    return question


def _run_pair(
    trials: _Trials, sides: tuple[Side, Side], question: Question, progress: Progress
) -> None:
    """One trial of each side; every other pair begins with the second one."""
    order = (0, 1) if len(trials.before) % 2 == 0 else (1, 0)
    began = question.budget.clock()
    for which, trial in _pair(sides, question, order):
        _must_have_trained(trial, _SIDES[which], question)
        (trials.before, trials.after)[which].append(trial)
        progress(f"trial {len(trials.every)} ({_SIDES[which]}): {_told(trial, question)}")
    trials.pair_seconds = question.budget.clock() - began


def _trial(side: Side, question: Question, nudge: float = 0.0) -> Trial:
    """One trial within the budget; raises where that cuts it short."""
    question.budget.must_be_left()
    trial = run_trial(side, question.steps, nudge=nudge, timeout=question.budget.left)
    question.budget.must_be_left()
    return trial


def _pair(
    sides: tuple[Side, Side], question: Question, order: tuple[int, int]
) -> Iterator[tuple[int, Trial]]:
    if question.in_turns:
        question.budget.must_be_left()
        left = question.budget.left
        pair = run_in_turns(sides, question.steps, first=order[0], timeout=left)
        question.budget.must_be_left()
        yield from enumerate(pair)
        return
    for which in order:
        yield which, _trial(sides[which], question)


def _told(trial: Trial, question: Question) -> str:
    figure = words.seconds(_figure(trial, question))
    if question.peak:
        return f"{figure}, {words.size(trial.peak)} at its peak"
    if question.program:
        return f"{figure} to its end"
    return f"{figure} a step over {trial.steps} steps, first {words.seconds(trial.first)}"


def _must_have_trained(trial: Trial, name: str, question: Question) -> None:
    if trial.ended == "killed by SIGINT":
        raise KeyboardInterrupt
    if not trial.ended.startswith("exit 0"):
        last = [line.strip() for line in trial.errors.splitlines() if line.strip()][-1:]
        kind = UnslowError if name == _SIDES[0] else AfterFails
        raise kind(
            f"the script {name} the change fails",
            ": ".join([f"it ended with {trial.ended}", *last]),
            "Run it by itself to see all of it.",
            "cannot-prove",
        )
    if trial.steps < min(_LEAST_STEPS, question.steps) and not question.times_runs:
        raise UnslowError(
            f"the script {name} the change does not train",
            f"only {words.count(trial.steps, 'step')} seen",
            "Both sides must train for a comparison.",
            "cannot-prove",
        )


def _figure(trial: Trial, question: Question) -> float:
    """What is compared: seconds per step, or of the whole process."""
    if question.times_runs:
        return trial.took
    return trial.whole if question.whole else trial.steady


def _is_clear(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether more trials would not change the answer: by the nearest two, and by the interval."""
    if len(before) < _EARLY:
        return False
    _, low, high = bootstrap_ratio(before, after)
    surely_faster = low > 1.0 and min(before) >= _CLEAR * max(after)
    surely_slower = high < 1.0 and min(after) >= _CLEAR * max(before)
    return surely_faster or surely_slower


def _is_lighter(trials: _Trials, question: Question) -> bool:
    """Whether every trial after the change peaks clearly below every one before it."""
    if not question.peak or len(trials.before) < _EARLY:
        return False
    before = min(trial.peak for trial in trials.before)
    return max(trial.peak for trial in trials.after) <= (1 - _LIGHTER) * before


def _peak(trials: _Trials) -> Peak:
    sides = (trials.before, trials.after)
    before, after = (float(np.median([trial.peak for trial in side])) for side in sides)
    return Peak(before, after)


def _judge(trials: _Trials, before: Side, question: Question, progress: Progress) -> Proof:
    first, second = trials.figures(question)
    by_pairs = question.in_turns and len(first) >= pairs.ENOUGH
    ratio, low, high = (pairs.speedup if by_pairs else _interval)(first, second)
    results = _results(trials, before, question, progress)
    growth = _growth_gone(trials) if question.grows else None
    verdict = _paired_verdict(low, high) if by_pairs else _speed_verdict(first, second)
    lighter = _is_lighter(trials, question) and verdict is not Verdict.SLOWER
    if growth or lighter:
        verdict = Verdict.PROVED
    if not results.same:
        verdict = Verdict.RESULTS_DIFFER
    return Proof(
        verdict=verdict,
        speedup=ratio,
        low=low,
        high=high,
        before=tuple(first),
        after=tuple(second),
        steps=min(trial.steps for trial in trials.every),
        difference=results.difference,
        noise=results.noise,
        text="",
        growth=growth,
        peak=_peak(trials) if question.peak else None,
        unit="a run" if question.times_runs else "a step",
    )


def _paired_verdict(low: float, high: float) -> Verdict:
    """Of pairs that took turns, by their interval: each small difference counts there."""
    if low > 1.0:
        return Verdict.PROVED
    if high < 1.0:
        return Verdict.SLOWER
    is_narrow = low > 1 / _FASTER and high < _FASTER
    return Verdict.NO_EFFECT if is_narrow else Verdict.UNSURE


def _speed_verdict(before: Sequence[float], after: Sequence[float]) -> Verdict:
    ratio, low, high = bootstrap_ratio(before, after)
    if ratio >= _FASTER and low > 1.0 and _apart(before, after):
        return Verdict.PROVED
    if ratio <= 1 / _FASTER and high < 1.0 and _apart(after, before):
        return Verdict.SLOWER
    if _every_pair_wins(before, after):
        return Verdict.PROVED
    if _every_pair_wins(after, before):
        return Verdict.SLOWER
    is_narrow = low > 1 / _FASTER and high < _FASTER
    return Verdict.NO_EFFECT if is_narrow else Verdict.UNSURE


def _every_pair_wins(slow: Sequence[float], fast: Sequence[float]) -> bool:
    """On a machine whose speed wanders, only the two trials of a pair can be compared.

    Each fast one must beat the slow one beside it, and half of them by a clear gain.
    """
    ratios = np.array(slow) / np.array(fast)
    enough = len(ratios) >= PAIRS
    return bool(enough and ratios.min() >= _FASTER and np.median(ratios) >= _CLEAR)


def _interval(before: Sequence[float], after: Sequence[float]) -> tuple[float, float, float]:
    """The ratio with its interval; of the pairs where these decided."""
    ratio, low, high = bootstrap_ratio(before, after)
    if low <= 1.0 <= high and (_every_pair_wins(before, after) or _every_pair_wins(after, before)):
        ratios = np.array(before) / np.array(after)
        return float(np.median(ratios)), float(ratios.min()), float(ratios.max())
    return ratio, low, high


def _apart(slow: Sequence[float], fast: Sequence[float]) -> bool:
    """With few trials a bootstrap is sure too soon: every fast one must beat every slow one, too.

    Of five and five, one pair may be reversed: one burst of other work does that. A script against
    itself then comes out as faster or slower in fewer than 1 of 100 proofs (simulated, on machines
    whose speed wanders).
    """
    reversed_pairs = sum(quick >= late for late in slow for quick in fast)
    return reversed_pairs <= (1 if min(len(slow), len(fast)) >= PAIRS else 0)


def _results(trials: _Trials, before: Side, question: Question, progress: Progress) -> _Results:
    one, other = trials.before[0], trials.after[0]
    found = difference(one.weights, other.weights)
    if found is None:
        return _Results(None, None, True)
    again = trials.before[1] if len(trials.before) > 1 else _trial(before, question)
    noise = difference(one.weights, again.weights) or 0.0
    if found <= max(3 * noise, ALWAYS_SAME):
        return _Results(found, noise, True)
    if found == float("inf"):
        return _Results(found, noise, False)
    progress("the weights differ: one more trial shows the effect of rounding in this training")
    nudged = _trial(before, question, nudge=ROUNDING)
    noise = max(noise, difference(one.weights, nudged.weights) or 0.0)
    rounded = min(_ROUNDED_PER_STEP * one.steps, _MOST_ROUNDED)
    return _Results(found, noise, found <= max(10 * noise, rounded))


def _growth_gone(trials: _Trials) -> Growth | None:
    """The step time, the memory or the files that grew before and do not after, by slope."""
    for name, rate in _GROWTHS.items():
        before, after = rate(trials.before), rate(trials.after)
        if before is None or after is None:
            continue
        if before.low > 0 and abs(after.value) <= _GONE * before.value:
            return Growth(name, before.value, after.value)
    return None


_GONE = 0.2  # of the growth before: what is left is within the noise of a slope (judgement)


def _step_time(trials: Sequence[Trial]) -> Slope | None:
    """Of each step's median over the trials; a busy machine may reverse one trial, not two."""
    steps = min(len(trial.seconds) for trial in trials)
    rows = [trial.seconds[1:steps] for trial in trials]
    numbers = np.arange(steps - 1)
    median = _slope(numbers, np.median(rows, axis=0))
    each = [_slope(numbers, row) for row in rows]
    lows = sorted(one.low for one in each if one is not None)
    if median is None or not lows:
        return None
    second_lowest = lows[min(1, len(lows) - 1)]
    return Slope(median.value, min(median.low, second_lowest), median.high)


def _together(slopes: Sequence[Slope | None]) -> Slope | None:
    """The median slope, with the widest interval."""
    seen = [one for one in slopes if one is not None]
    if len(seen) < len(slopes):
        return None
    value = float(np.median([one.value for one in seen]))
    return Slope(value, min(one.low for one in seen), max(one.high for one in seen))


_GROWTHS: Mapping[str, Callable[[Sequence[Trial]], Slope | None]] = {
    "step time": _step_time,
    "memory": lambda trials: _together([_slope(trial.rss_steps, trial.rss) for trial in trials]),
    "disk use": lambda trials: _together(
        [_late_rate(trial.files_steps, trial.files) for trial in trials]
    ),
}


def _slope(x: np.ndarray, y: np.ndarray) -> Slope | None:
    return slope(x, y) if len(x) >= 8 else None


def _late_rate(x: np.ndarray, y: np.ndarray) -> Slope | None:
    """Bytes per step in the second half: a script that keeps its last few files grows until then.

    Bytes of files are counted, so there is no interval.
    """
    late = x >= x.max(initial=0.0) / 2
    steps, sizes = x[late], y[late]
    if len(steps) < 3 or steps[-1] <= steps[0]:
        return None
    rate = float((sizes[-1] - sizes[0]) / (steps[-1] - steps[0]))
    return Slope(rate, rate, rate)


def _sentences(proof: Proof) -> Iterator[str]:
    before, after = (words.seconds(float(np.median(side))) for side in (proof.before, proof.after))
    speed = f"{words.speed(proof.speedup)} ({words.interval(proof.low, proof.high)})"
    runs = f"{len(proof.before)} + {len(proof.after)} runs"
    verdict = proof.verdict.value.upper().replace(" ", "_")
    yield f"{verdict}: {before} → {after} {proof.unit}, {speed} over {runs}"
    if proof.peak:
        yield f"peak memory {words.size(proof.peak.before)} → {words.size(proof.peak.after)}"
    if proof.growth:
        yield _grown(proof.growth)
    yield _weights(proof)
    if proof.quality:
        yield _loss(proof.quality)


def _loss(quality: Quality) -> str:
    judged = "as good as before" if quality.same else "not shown to be as good as before"
    means = f"loss {quality.before:.3g} → {quality.after:.3g} over {quality.seeds} seeds"
    margin = f"off by up to {quality.worst_gap:+.2g}, and the seeds allow ±{quality.margin:.2g}"
    lower = quality.worst_gap < -quality.margin
    hint = "; so much lower a loss may mean that less of the data is seen" if lower else ""
    return f"{judged}: {means} ({margin}){hint}"


def _weights(proof: Proof) -> str:
    if proof.difference is None:
        return "the weights could not be compared"
    if proof.difference == 0:
        return "the weights are identical"
    if proof.difference == float("inf"):
        return "the weights differ in number or shape"
    noise = f"before against itself: {proof.noise or 0:.1e}"
    return f"the weights differ by {proof.difference:.1e} ({noise})"


def _grown(growth: Growth) -> str:
    form = words.seconds if growth.what == "step time" else words.size
    before, after = (form(rate * 1000) for rate in (growth.before, growth.after))
    return f"{growth.what} grew by {before} per 1,000 steps before, and by {after} after"
