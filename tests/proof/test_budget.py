"""A proof that may only take so long: it stops in time, and says what is known."""

from __future__ import annotations

import numpy as np
import pytest

from unslow.model import Verdict
from unslow.proof import prove as proving
from unslow.proof.budget import Budget, OutOfTime
from unslow.proof.question import Question
from unslow.proof.trials import Side, Trial

from .test_prove import AFTER, BEFORE, trial


class Clock:
    """Time that passes only when a trial runs."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Trials of ten seconds each; after is 1.3 times as fast, which three pairs do not make clear."""
    time = Clock()

    def run(side: Side, steps: int, timeout: float, **options: object) -> Trial:
        time.now += min(10.0, timeout)
        level = 0.010 if side is BEFORE else 0.0077
        return trial(np.full(200, level))

    monkeypatch.setattr(proving, "run_trial", run)
    return time


def test_a_pair_that_does_not_fit_any_more_is_not_begun(clock: Clock) -> None:
    budget = Budget(65.0, clock)
    proof = proving.prove(BEFORE, AFTER, Question(200, budget=budget))
    assert clock.now == 160.0
    assert proof.verdict is Verdict.UNSURE
    assert len(proof.before) == len(proof.after) == 3
    assert "stopped: the budget of 65" in proof.text


def test_a_trial_that_is_cut_short_is_not_counted(clock: Clock) -> None:
    proof = proving.prove(BEFORE, AFTER, Question(200, budget=Budget(15.0, clock)))
    assert proof.verdict is Verdict.UNSURE
    assert proof.before == proof.after == ()
    assert "not even one run of each ended" in proof.text


def test_one_pair_has_no_interval(clock: Clock) -> None:
    proof = proving.prove(BEFORE, AFTER, Question(200, budget=Budget(35.0, clock)))
    assert proof.verdict is Verdict.UNSURE
    assert len(proof.before) == 1
    assert "in one run of each; stopped" in proof.text


def test_enough_time_changes_nothing(clock: Clock) -> None:
    proof = proving.prove(BEFORE, AFTER, Question(200, budget=Budget(500.0, clock)))
    assert proof.verdict is Verdict.PROVED
    assert "stopped" not in proof.text


def test_without_a_number_there_is_always_time(clock: Clock) -> None:
    budget = Budget(None, clock)
    clock.now += 1e6
    assert budget.allows(1e6)
    budget.must_be_left()
    with pytest.raises(OutOfTime):
        Budget(0.0, clock).must_be_left()
