"""What pairs show, by ranks."""

from __future__ import annotations

import numpy as np
import pytest

from unslow.analyse.stats.pairs import ENOUGH, chance_of_larger, interval, middle, speedup


def test_the_interval_holds_the_median_in_99_of_100_cases() -> None:
    rng = np.random.default_rng(1)
    found = [interval(rng.laplace(0.0, 1.0, 12)) for _ in range(10_000)]
    missed = sum(not low < 0 < high for low, high in found)
    assert missed <= 0.013 * len(found)


@pytest.mark.parametrize("count", [ENOUGH, 10, 20, 40])
def test_a_small_chance_and_an_interval_without_zero_go_together(count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(200):
        values = rng.normal(0.5, 1.0, count)
        assert (chance_of_larger(values) <= 0.005) == (interval(values)[0] > 0)


def test_one_wild_value_moves_nothing_far() -> None:
    values = np.array([0.9, 1.0, 1.1, 1.0, 0.95, 1.05, 1.02, 0.98, 50.0, 1.0])
    assert middle(values) == pytest.approx(1.0, abs=0.05)


def test_pairs_show_what_both_sides_together_hide() -> None:
    machine = np.array([1.0, 2.0, 1.5, 3.0, 1.2, 2.5, 1.8, 2.2, 1.1, 2.8])
    ratio, low, high = speedup(machine, 1.05 * machine)
    assert (ratio, low, high) == pytest.approx((1 / 1.05, 1 / 1.05, 1 / 1.05))
