"""Interleaved trials of before and after, and the verdict on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from unslow.analyse.stats import pairs
from unslow.analyse.stats.growth import bootstrap_ratio
from unslow.errors import UnslowError
from unslow.model import Proof, Verdict
from unslow.proof.budget import OutOfTime
from unslow.proof.growth import growth_gone
from unslow.proof.proof_text import sentences
from unslow.proof.quality import STEPS, Pace, Plan, compare_quality
from unslow.proof.question import LEAST_STEPS, Question, question_for, steps_for
from unslow.proof.speed import interval, is_clear, paired_verdict, speed_verdict
from unslow.proof.trials import Side, Trial, difference, run_trial
from unslow.proof.turns import run_in_turns
from unslow.report import words

__all__ = ["AfterFails", "Question", "failed", "prove", "question_for", "steps_for"]

ROUNDING = 1e-7  # a relative change of the weights below the resolution of float32
ALWAYS_SAME = 1e-5  # differences below this are rounding in any training
# Where the ops of a step are computed in another order (a compiled step, XLA), every step rounds
# once more: sums over thousands of float32 numbers lose one or two of their seven digits. Measured:
# 1.0e-5 after the 8 steps of a convolutional network with Adam, with and without XLA.
_ROUNDED_PER_STEP = 2e-6
_MOST_ROUNDED = 1e-4  # however many steps: a learning rate that is 1 % off shows ten times that
# A hundred times that. Where the loss may decide, no trial shows the effect of rounding.
_NEVER_ROUNDED = 1e-2
_MOST_ADAPTIONS = 3  # times that the number of steps is changed so that both sides can end there
_SIDES = ("before", "after")


class AfterFails(UnslowError):
    """The changed program ends with an error where the unchanged one does not."""


Progress = Callable[[str], None]


def prove(
    before: Side, after: Side, question: Question, progress: Progress = lambda text: None
) -> Proof:
    """Run A B B A … until the answer is clear, enough has been tried, or the budget is spent."""
    trials = _Trials((before, after), question, progress)
    missing = ""
    try:
        trials.run_first_pair()
        trials.run_more_pairs()
        proof = _judge(trials)
        if question.quality and proof.verdict is Verdict.RESULTS_DIFFER:
            proof, missing = _by_quality(proof, trials)
    except OutOfTime:
        return _unfinished(trials)
    return replace(proof, text="; ".join([*sentences(proof), *filter(None, [missing])]))


def failed(problem: AfterFails) -> Proof:
    """The verdict on a change after which the program fails."""
    text = f"RESULTS_DIFFER: {problem.what}: {problem.why}"
    verdict = Verdict.RESULTS_DIFFER
    return Proof(verdict, 1.0, 0.0, float("inf"), (), (), 0, None, None, text)


# Trials


@dataclass
class _Trials:
    """The trials of both sides so far, and what they are run for."""

    sides: tuple[Side, Side]
    question: Question
    progress: Progress
    before: list[Trial] = field(default_factory=list)
    after: list[Trial] = field(default_factory=list)
    pair_seconds: float = 0.0  # that the last pair took, starts and copies included

    @property
    def every(self) -> list[Trial]:
        return [*self.before, *self.after]

    @property
    def steps(self) -> int:
        """The steps that every trial did."""
        return min(trial.steps for trial in self.every)

    @property
    def figures(self) -> tuple[list[float], list[float]]:
        """Seconds of each trial, before and after."""
        seconds = self.question.measure.seconds
        return [seconds(trial) for trial in self.before], [seconds(trial) for trial in self.after]

    @property
    def is_lighter(self) -> bool:
        return self.question.measure.is_lighter(self.before, self.after)

    def run_first_pair(self) -> None:
        """The first trial of each side, after a number of steps at which both can end.

        A side that takes several steps in one call may end a few later; the other one can go as
        far.
        """
        for _ in range(_MOST_ADAPTIONS + 1):
            self.before.clear()
            self.after.clear()
            self.run_pair()
            fewest, most = sorted(trial.steps for trial in self.every)
            if fewest == most or self.question.measure.to_end:
                break
            if self._ask_for_whole_steps():
                continue
            common = fewest if fewest < self.question.steps else most
            self.progress(f"one side ends after {common} steps: both are compared there")
            self.question = replace(self.question, steps=common)

    def _ask_for_whole_steps(self) -> bool:
        """Whether a side counted updates of one step as several, and is now asked for more."""
        split = [max(0, trial.counted - trial.steps) for trial in self.every]
        if not any(split) or any(side.split for side in self.sides):
            return False
        before, after = self.sides
        self.sides = replace(before, split=split[0]), replace(after, split=split[1])
        return True

    def run_more_pairs(self) -> None:
        """Raise where the budget ends before the answer is clear: too few trials prove nothing."""
        is_decided = self.question.is_decided or is_clear
        while len(self.before) < self.question.pairs:
            if is_decided(*self.figures) or self.is_lighter:
                return
            if not self.question.budget.allows(self.pair_seconds):
                raise OutOfTime
            self.run_pair()

    def run_pair(self) -> None:
        """One trial of each side; every other pair begins with the second one."""
        order = (0, 1) if len(self.before) % 2 == 0 else (1, 0)
        clock = self.question.budget.clock
        began = clock()
        for which, trial in self._pair(order):
            _must_have_trained(trial, _SIDES[which], self.question)
            (self.before, self.after)[which].append(trial)
            described = self.question.measure.describe(trial)
            self.progress(f"trial {len(self.every)} ({_SIDES[which]}): {described}")
        self.pair_seconds = clock() - began

    def _pair(self, order: tuple[int, int]) -> Iterator[tuple[int, Trial]]:
        if not self.question.in_turns:
            for which in order:
                yield which, self.run_one(which)
            return
        budget = self.question.budget
        budget.must_be_left()
        pair = run_in_turns(self.sides, self.question.steps, first=order[0], timeout=budget.left)
        budget.must_be_left()
        yield from enumerate(pair)

    def run_one(self, which: int, nudge: float = 0.0) -> Trial:
        """One trial within the budget; raises where that cuts it short."""
        budget = self.question.budget
        budget.must_be_left()
        side, steps = self.sides[which], self.question.steps
        trial = run_trial(side, steps, nudge=nudge, timeout=budget.left)
        budget.must_be_left()
        return trial


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
    has_steps = trial.steps >= min(LEAST_STEPS, question.steps)
    if not has_steps and not question.measure.times_runs:
        raise UnslowError(
            f"the script {name} the change does not train",
            f"only {words.count(trial.steps, 'step')} seen",
            "Both sides must train for a comparison.",
            "cannot-prove",
        )


# Verdicts


def _judge(trials: _Trials) -> Proof:
    question, (before, after) = trials.question, trials.figures
    if question.in_turns and len(before) >= pairs.ENOUGH:
        ratio, low, high = pairs.speedup(before, after)
        verdict = paired_verdict(low, high)
    else:
        ratio, low, high = interval(before, after)
        verdict = speed_verdict(before, after)
    weights = _compare_weights(trials)
    growth = growth_gone(trials.before, trials.after) if question.grows else None
    lighter = trials.is_lighter and verdict is not Verdict.SLOWER
    if growth or lighter:
        verdict = Verdict.PROVED
    if not weights.same:
        verdict = Verdict.RESULTS_DIFFER
    return Proof(
        verdict=verdict,
        speedup=ratio,
        low=low,
        high=high,
        before=tuple(before),
        after=tuple(after),
        steps=trials.steps,
        difference=weights.difference,
        noise=weights.noise,
        text="",
        growth=growth,
        peak=question.measure.peak(trials.before, trials.after),
        unit=question.measure.unit,
    )


def _by_quality(proof: Proof, trials: _Trials) -> tuple[Proof, str]:
    """With other weights, proved if it is faster and trains as well over several seeds.

    Also what stood in the way of comparing that.
    """
    faster = speed_verdict(proof.before, proof.after)
    if faster is not Verdict.PROVED and not proof.growth:
        return replace(proof, verdict=faster), ""
    progress, question = trials.progress, trials.question
    progress("the weights differ, as this fix may: comparing the loss over several seeds")
    pace = Pace.of(trials.before[-1], trials.after[-1])
    steps = min(STEPS, question.training or STEPS)
    found = compare_quality(trials.sides, Plan(steps, pace, question.budget), progress)
    if found.quality is None:
        verdict = Verdict.UNSURE if found.unsure else Verdict.RESULTS_DIFFER
        return replace(proof, verdict=verdict), found.missing
    verdict = Verdict.PROVED if found.quality.same else Verdict.RESULTS_DIFFER
    return replace(proof, verdict=verdict, quality=found.quality), ""


def _unfinished(trials: _Trials) -> Proof:
    """What is known when the budget ends before there is an answer."""
    complete = min(len(trials.before), len(trials.after))
    unit = trials.question.measure.unit
    proof = Proof(Verdict.UNSURE, 1.0, 0.0, float("inf"), (), (), 0, None, None, "", unit=unit)
    known = "UNSURE: not even one run of each ended"
    if complete:
        before, after = (tuple(side[:complete]) for side in trials.figures)
        ratio, low, high = bootstrap_ratio(before, after)
        figures = f"{words.seconds(before[0])} → {words.seconds(after[0])}"
        known = f"UNSURE: {figures} {unit} in one run of each"
        proof = replace(
            proof, speedup=ratio, low=low, high=high, before=before, after=after, steps=trials.steps
        )
    if complete > 1:
        known = next(sentences(proof))
    given = words.seconds(trials.question.budget.seconds or 0.0)
    return replace(proof, text=f"{known}; stopped: the budget of {given} was spent")


# Weights


@dataclass(frozen=True)
class _Weights:
    """Weights after the same steps: before against after, and before against itself."""

    difference: float | None
    noise: float | None
    same: bool


def _compare_weights(trials: _Trials) -> _Weights:
    one, other = trials.before[0], trials.after[0]
    found = difference(one.weights, other.weights)
    if found is None:
        return _Weights(None, None, True)
    again = trials.before[1] if len(trials.before) > 1 else trials.run_one(0)
    noise = difference(one.weights, again.weights) or 0.0
    if found <= max(3 * noise, ALWAYS_SAME):
        return _Weights(found, noise, True)
    by_loss = trials.question.quality and found > _NEVER_ROUNDED
    if found == float("inf") or by_loss:
        return _Weights(found, noise, False)
    trials.progress(
        "the weights differ: one more trial shows the effect of rounding in this training"
    )
    nudged = trials.run_one(0, nudge=ROUNDING)
    noise = max(noise, difference(one.weights, nudged.weights) or 0.0)
    rounded = min(_ROUNDED_PER_STEP * one.steps, _MOST_ROUNDED)
    return _Weights(found, noise, found <= max(10 * noise, rounded))
