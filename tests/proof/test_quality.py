"""Whether a change trains as well: the equivalence test on losses over several seeds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from unslow.proof.budget import Budget
from unslow.proof.quality import SEEDS, compare_quality, judge
from unslow.proof.trials import Side

Curves = list[np.ndarray]


def curves(rng: np.random.Generator, rate: float = 0.03, floor: float = 0.2) -> Curves:
    """Losses that fall towards a floor; seeds differ in where they start and end."""
    steps = np.arange(120)
    found = []
    for _ in range(SEEDS):
        level = rng.normal(1.0, 0.05)
        noise = rng.normal(0, 0.05, len(steps))
        found.append(level * (floor + np.exp(-rate * steps)) + noise)
    return found


def test_other_random_numbers_with_the_same_course_are_as_good() -> None:
    rng = np.random.default_rng(3)
    passed = [judge(curves(rng), curves(rng)).same for _ in range(100)]
    assert sum(passed) >= 97


@pytest.mark.parametrize(
    ("rate", "floor"),
    [(0.01, 0.2), (0.03, 0.4), (0.0, 0.2)],
    ids=["learns more slowly", "ends higher", "does not learn"],
)
def test_a_training_that_was_harmed_does_not_pass(rate: float, floor: float) -> None:
    rng = np.random.default_rng(4)
    passed = [judge(curves(rng), curves(rng, rate, floor)).same for _ in range(100)]
    assert sum(passed) <= 2


def test_a_far_lower_loss_does_not_pass_either() -> None:
    rng = np.random.default_rng(5)
    found = judge(curves(rng), curves(rng, floor=0.02))
    assert not found.same
    assert found.worst_gap < -found.margin


def test_a_loss_that_is_not_a_number_does_not_pass() -> None:
    rng = np.random.default_rng(6)
    broken = [curve * np.nan for curve in curves(rng)]
    assert not judge(curves(rng), broken).same


def test_a_trial_has_enough_steps_for_its_losses_however_few_measure_the_speed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def trial(side: object, steps: int, **options: object) -> SimpleNamespace:
        asked.append(steps)
        return SimpleNamespace(losses=np.linspace(1.0, 0.5, steps))

    monkeypatch.setattr("unslow.proof.quality.run_trial", trial)
    sides = cast("tuple[Side, Side]", (None, None))
    assert compare_quality(sides, 5, Budget()) is not None
    assert compare_quality(sides, 100, Budget()) is not None
    assert min(asked) >= 12
    assert max(asked) == 100
