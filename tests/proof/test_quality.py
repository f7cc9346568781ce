"""Whether a change trains as well: the equivalence test on losses over several seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from scipy import stats

from unslow.proof.budget import Budget
from unslow.proof.quality import (
    FEWEST_SEEDS,
    MOST_SEEDS,
    Answer,
    Judgement,
    Pace,
    Plan,
    _student,
    compare_quality,
    judge,
)
from unslow.proof.trials import Side, Trial

from .test_prove import trial as known_trial

Curves = list[np.ndarray]
SIDES = cast("tuple[Side, Side]", ("before", "after"))


def curves(rng: np.random.Generator, rate: float = 0.03, floor: float = 0.2) -> Curves:
    """Losses that fall towards a floor; seeds differ in where they start and end."""
    steps = np.arange(120)
    found = []
    for _ in range(MOST_SEEDS):
        level = rng.normal(1.0, 0.05)
        noise = rng.normal(0, 0.05, len(steps))
        found.append(level * (floor + np.exp(-rate * steps)) + noise)
    return found


def decided(before: Curves, after: Curves) -> Judgement:
    for seeds in range(FEWEST_SEEDS, MOST_SEEDS + 1):
        found = judge(before[:seeds], after[:seeds])
        if found.answer is not Answer.OPEN:
            break
    return found


def test_other_random_numbers_with_the_same_course_are_as_good() -> None:
    rng = np.random.default_rng(3)
    passed = [decided(curves(rng), curves(rng)).quality.same for _ in range(100)]
    assert sum(passed) >= 98


@pytest.mark.parametrize(
    ("rate", "floor"),
    [(0.01, 0.2), (0.03, 0.24), (0.0, 0.2), (0.023, 0.2)],
    ids=["learns more slowly", "ends higher", "does not learn", "learns a little more slowly"],
)
def test_a_training_that_was_harmed_does_not_pass(rate: float, floor: float) -> None:
    rng = np.random.default_rng(4)
    passed = [decided(curves(rng), curves(rng, rate, floor)).quality.same for _ in range(100)]
    assert sum(passed) <= 2


def test_a_far_lower_loss_does_not_pass_either() -> None:
    rng = np.random.default_rng(5)
    found = decided(curves(rng), curves(rng, floor=0.02)).quality
    assert not found.same
    assert found.worst_gap < -found.margin


def test_a_loss_that_is_not_a_number_does_not_pass() -> None:
    rng = np.random.default_rng(6)
    broken = [curve * np.nan for curve in curves(rng)]
    assert judge(curves(rng), broken).answer is Answer.DIFFERENT


def test_losses_below_zero_are_compared_as_they_are() -> None:
    rng = np.random.default_rng(7)
    before, same, worse = (curves(rng, floor=floor) for floor in (0.2, 0.2, 0.6))
    lowered = [[curve - 1.0 for curve in side] for side in (before, same, worse)]
    assert decided(lowered[0], lowered[1]).quality.same
    assert not decided(lowered[0], lowered[2]).quality.same


def test_a_clear_answer_needs_few_seeds() -> None:
    rng = np.random.default_rng(8)
    assert decided(curves(rng), curves(rng, rate=0.0)).quality.seeds == FEWEST_SEEDS


def test_points_of_students_t() -> None:
    for freedom in range(FEWEST_SEEDS - 1, MOST_SEEDS):
        for share, point in ((0.95, 1.6449), (0.995, 2.5758)):
            expected = float(stats.t.ppf(share, freedom))
            assert _student(point, freedom) == pytest.approx(expected, rel=0.015)


# With trials


def test_a_long_first_step_is_part_of_the_start() -> None:
    """A compiled step traces once: 120 steps do not take ten times as long as 12."""
    seconds = np.array([16.0, *[0.01] * 11])
    pace = Pace.of(*(trial(seconds, took=26.11) for _ in range(2)))
    assert pace.start == pytest.approx(52.0)
    assert pace.pairs(1, 101) == pytest.approx(52.0 + 101 * 0.02)
    single = Pace.of(*(trial(seconds[:1], took=20.0) for _ in range(2)))
    assert single.pairs(1, 101) == pytest.approx(40.0)


def trial(seconds: np.ndarray, took: float) -> Trial:
    made = known_trial(seconds)
    return replace(made, took=took)


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Let the comparison see made-up losses; what it asks for is returned."""

    def use(make: Callable[[bool, int], dict[str, np.ndarray]], took: float = 0.0) -> list[int]:
        asked: list[int] = []

        def run(side: str, steps: int, seed: int, **options: object) -> SimpleNamespace:
            asked.append(seed)
            clock.now += took
            series = make(side == "after", steps)
            return SimpleNamespace(series=series, steps=steps, ended="exit 0")

        monkeypatch.setattr("unslow.proof.quality.run_trial", run)
        return asked

    return use


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


clock = Clock()


def plan(budget: float | None = None, steps: int = 120) -> Plan:
    return Plan(steps, Pace(start=10.0, step=0.1), Budget(budget, clock))


def falling(rng: np.random.Generator, rate: float = 0.03) -> Callable[..., dict[str, np.ndarray]]:
    def make(after: bool, steps: int) -> dict[str, np.ndarray]:
        return {"loss#0": curves(rng, rate)[0][:steps]}

    return make


def test_seeds_are_added_until_the_answer_is_clear(trials: Callable[..., list[int]]) -> None:
    asked = trials(falling(np.random.default_rng(1)))
    found = compare_quality(SIDES, plan())
    assert found.quality is not None and found.quality.same
    assert found.quality.seeds == len(set(asked)) < MOST_SEEDS


def test_a_budget_that_is_too_small_is_said_before_anything_is_run(
    trials: Callable[..., list[int]],
) -> None:
    asked = trials(falling(np.random.default_rng(1)))
    found = compare_quality(SIDES, plan(budget=60.0))
    assert found.quality is None and found.unsure
    assert asked == []
    assert found.missing.endswith("with about 8 seeds takes 176 s, and 60.0 s are left")


def test_a_budget_that_ends_meanwhile_leaves_it_unsure(trials: Callable[..., list[int]]) -> None:
    trials(falling(np.random.default_rng(1)), took=40.0)
    found = compare_quality(SIDES, plan(budget=200.0))
    assert found.quality is None and found.unsure
    assert found.missing == "the loss of 2 seeds is too little"


def test_a_loss_that_does_not_move_shows_nothing(trials: Callable[..., list[int]]) -> None:
    trials(falling(np.random.default_rng(1), rate=0.0))
    found = compare_quality(SIDES, plan())
    assert found.quality is None and found.unsure
    assert "moved less in 120 steps than it differs between seeds" in found.missing


@pytest.mark.parametrize(
    ("series", "says"),
    [
        ({}, "no loss was seen"),
        ({"loss#0": np.ones(5)}, "5 loss values in a trial: too few"),
    ],
)
def test_losses_that_are_missing_are_named(
    series: dict[str, np.ndarray], says: str, trials: Callable[..., list[int]]
) -> None:
    asked = trials(lambda after, steps: series)
    found = compare_quality(SIDES, plan())
    assert found.quality is None and not found.unsure
    assert says in found.missing
    assert len(asked) == 2


def test_losses_of_other_names_cannot_be_compared(trials: Callable[..., list[int]]) -> None:
    trials(lambda after, steps: {"metric a#0" if after else "metric b#0": np.ones(20)})
    assert "no loss in common" in compare_quality(SIDES, plan()).missing
