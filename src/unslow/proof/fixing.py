"""Proves the fixes of a run: all as one change first, else one by one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from unslow.fix.edit.apply import check_unchanged
from unslow.model import Diagnosis, Fix, Proof, Run, Safety, Verdict
from unslow.planning import Composition, Step
from unslow.proof.budget import Budget
from unslow.proof.measures import combined
from unslow.proof.prove import AfterFails, failed, prove
from unslow.proof.question import Question, question_for
from unslow.proof.sides import side_of
from unslow.proof.trials import record_side

Progress = Callable[[str], None]
_START = 60.0  # seconds that a start may take on a busy machine, beyond what the run took


@dataclass(frozen=True)
class Outcome:
    """What became of one fix: its proof where one was requested, and whether it is kept."""

    step: Step
    proof: Proof | None
    accepted: bool

    @property
    def lacks_consent(self) -> bool:
        """Proved, but left out: it leads to other weights, and nobody agreed to that."""
        proved = self.proof is not None and self.proof.verdict is Verdict.PROVED
        return proved and not self.accepted


def planned(diagnosis: Diagnosis, only: str | None = None) -> Iterator[Outcome]:
    """Every fix on top of those before it, none of them proved."""
    composition = Composition(diagnosis, only)
    for step in composition.steps():
        is_fix = isinstance(step.fix, Fix)
        if isinstance(step.fix, Fix):
            check_unchanged(diagnosis.run, step.fix.files)
            composition.accept(step)
        yield Outcome(step, None, is_fix)


@dataclass(frozen=True)
class Wanted:
    """What the user requested."""

    only: str | None = None  # one cause
    steps: int | None = None  # per trial
    other_weights: bool = True  # whether a fix may lead to other weights, if it trains as well
    budget: Budget = field(default_factory=Budget)  # for all proofs together

    def takes(self, proof: Proof) -> bool:
        agreed = self.other_weights or proof.quality is None
        return proof.verdict is Verdict.PROVED and agreed


def proved(
    diagnosis: Diagnosis, folder: str, wanted: Wanted, progress: Progress
) -> Iterator[Outcome]:
    """The fixes that hold. Several are proved as one change; where that fails, one by one."""
    outcomes = list(planned(diagnosis, wanted.only))
    fixes = [outcome.step for outcome in outcomes if outcome.accepted]
    if len(fixes) > 1:
        progress(f"proving {len(fixes)} fixes together")
        proof = _compared(diagnosis.run, folder, fixes, wanted, progress)
        if wanted.takes(proof):
            for outcome in outcomes:
                yield Outcome(outcome.step, proof if outcome.accepted else None, outcome.accepted)
            return
        progress(f"together: {proof.text}")
        progress("proving them one by one")
    yield from _one_by_one(diagnosis, folder, wanted, progress)


def _one_by_one(
    diagnosis: Diagnosis, folder: str, wanted: Wanted, progress: Progress
) -> Iterator[Outcome]:
    """Each fix on top of those that were proved before it; one that fails leaves no trace."""
    composition = Composition(diagnosis, wanted.only)
    for step in composition.steps():
        if not isinstance(step.fix, Fix):
            yield Outcome(step, None, False)
            continue
        progress(f"proving {step.finding.cause}: {step.fix.title}")
        proof = _compared(diagnosis.run, folder, [step], wanted, progress)
        if wanted.takes(proof):
            composition.accept(step)
        yield Outcome(step, proof, wanted.takes(proof))


def _compared(
    run: Run, folder: str, fixes: list[Step], wanted: Wanted, progress: Progress
) -> Proof:
    """The texts before the first fix against those after the last one."""
    before = side_of(run, folder, fixes[0].before)
    after = side_of(run, folder, fixes[-1].after)
    try:
        return prove(before, after, _question(run, fixes, wanted), progress)
    except AfterFails as problem:
        return failed(problem)


def _question(run: Run, fixes: list[Step], wanted: Wanted) -> Question:
    """What must be shown for all of them: the widest of what each requires."""
    asked = [question_for(run, step.finding, wanted.steps) for step in fixes]
    return Question(
        steps=max(question.steps for question in asked),
        measure=combined([question.measure for question in asked]),
        grows=any(question.grows for question in asked),
        quality=any(_is_review(step) for step in fixes),
        training=run.steps,
        budget=wanted.budget,
    )


def _is_review(step: Step) -> bool:
    return isinstance(step.fix, Fix) and step.fix.safety is Safety.REVIEW


@dataclass(frozen=True)
class WholeRun:
    """The program from its start to its end, before and after the fixes."""

    before: float
    after: float
    start: float  # of after: seconds until its first step began


def whole_run(run: Run, folder: str, texts: Mapping[str, str], budget: Budget) -> WholeRun | None:
    """Run the fixed program once to its end; None where it does not end as the recorded one did."""
    if not budget.allows(run.seconds):
        return None
    with tempfile.TemporaryDirectory(prefix="unslow-whole-") as place:
        patience = min(2 * run.seconds + _START, budget.left)
        recorded = record_side(side_of(run, folder, texts), Path(place), {}, patience)
    if recorded.ended.text != run.ended:
        return None
    start = min((loop.start for loop in recorded.run.loops), default=0.0)
    return WholeRun(run.seconds, recorded.run.seconds, start)
