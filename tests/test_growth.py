"""Growth laws, slopes, ratios: right values, honest intervals, and no growth where something settles."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.test_trend import autoregressive
from unslow.analyse.stats.growth import (
    Kind,
    Law,
    bootstrap_ratio,
    changed_with,
    fit_law,
    levels_off,
    slope,
)
from unslow.analyse.stats.robust import student

FINITE = st.floats(-1e6, 1e6).map(lambda value: value if abs(value) > 1e-6 else 0.0) | st.integers(
    -3, 3
)
PAIRS = st.lists(st.tuples(FINITE, FINITE), max_size=90)


def noisy(
    size: int, curve: Callable[[np.ndarray], np.ndarray], noise: float = 1.0, seed: int = 0
) -> np.ndarray:
    return curve(np.linspace(0, 1, size)) + noise * np.random.default_rng(seed).standard_normal(
        size
    )


def law_of(values: np.ndarray) -> Law:
    return fit_law(np.arange(1, len(values) + 1), values)


# Slopes


def test_a_straight_line_has_its_slope_and_no_doubt():
    found = slope([1, 2, 3, 4, 5], [3, 5, 7, 9, 11])
    assert (found.value, found.low, found.high) == pytest.approx((2, 2, 2))


def test_the_slope_is_theil_and_sens():
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(2)
    x, y = rng.random(60), rng.standard_t(2, 60)
    assert slope(x, y).value == pytest.approx(stats.theilslopes(y, x).slope)


def test_wild_points_do_not_turn_the_slope():
    values = noisy(200, lambda along: 10 * along, 0.1)
    values[::9] += 500
    assert slope(np.arange(200), values).value == pytest.approx(10 / 199, rel=0.1)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("size", [50, 400])
def test_the_interval_holds_the_slope_as_often_as_it_says(rho: float, size: int):
    rows = autoregressive(np.random.default_rng(8), 200, size, rho)
    found = [slope(np.arange(size), row) for row in rows]
    assert np.mean([each.low <= 0 <= each.high for each in found]) >= 0.92


def test_more_points_make_the_interval_narrower():
    few, many = (
        slope(np.linspace(0, 1, size), noisy(size, lambda along: along)) for size in (40, 4000)
    )
    assert many.high - many.low < (few.high - few.low) / 4


def test_the_order_of_points_does_not_matter_where_x_is_not_time():
    rng = np.random.default_rng(1)
    x = rng.permutation(300)
    assert slope(x, 3.0 * x).value == pytest.approx(3)


@pytest.mark.parametrize("points", [0, 1, 2, 3])
def test_too_few_points_say_nothing_for_sure(points: int):
    found = slope(range(points), range(points))
    assert (found.low, found.high) == (-math.inf, math.inf)


def test_students_quantile_is_near_the_tables():
    stats = pytest.importorskip("scipy.stats")
    for freedom in (2, 3, 5, 10, 40):
        assert student(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=0.04)


# Laws

GROWING = {
    "straight": lambda along: 100 + 20 * along,
    "from nothing": lambda along: 100 * along,
    "square": lambda along: 100 + 60 * along**2,
    "root": lambda along: 100 + 60 * np.sqrt(along),
    "from the middle on": lambda along: 100 + 60 * np.maximum(along - 0.5, 0),
    "late": lambda along: 100 + 60 * np.maximum(along - 0.7, 0),
    "stairs": lambda along: 100 + 10 * np.floor(8 * along),
}
SETTLING = {
    "allocator": lambda along: 100 + 50 * (1 - np.exp(-8 * along)),
    "slow allocator": lambda along: 100 + 50 * (1 - np.exp(-4 * along)),
    "buffer": lambda along: 100 + 50 * np.minimum(along / 0.4, 1),
    "large buffer": lambda along: 100 + 50 * np.minimum(along / 0.75, 1),
    "jump": lambda along: 100 + 50 * (along > 0.3),
}
LEVEL = {
    "flat": lambda along: 100 + 0 * along,
    "saw": lambda along: 100 + 20 * (7.4 * along % 1),
    "falling": lambda along: 100 - 20 * along,
    "spell": lambda along: 100 + 50 * (abs(along - 0.6) < 0.05),
}


@pytest.mark.parametrize("size", [60, 1000])
@pytest.mark.parametrize("curve", GROWING.values(), ids=GROWING)
def test_what_rises_to_the_end_grows(curve, size: int):
    assert law_of(noisy(size, curve)).grows


@pytest.mark.parametrize("size", [60, 1000])
@pytest.mark.parametrize("curve", SETTLING.values(), ids=SETTLING)
def test_what_settles_does_not_grow_and_stays_where_it_is(curve, size: int):
    law = law_of(noisy(size, curve))
    assert (law.grows, law.levels_off) == (False, True)
    assert law.forecast(10 * size) == pytest.approx(150, rel=0.03)


@pytest.mark.parametrize("curve", LEVEL.values(), ids=LEVEL)
def test_what_stays_or_falls_neither_grows_nor_levels_off(curve):
    law = law_of(noisy(600, curve))
    assert (law.grows, law.levels_off) == (False, False)


@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_noise_does_not_grow(rho: float):
    rows = 100 + 10 * autoregressive(np.random.default_rng(4), 250, 300, rho)
    assert np.mean([law_of(row).grows for row in rows]) <= 0.01


def test_a_walk_at_random_seldom_grows():
    rows = 100 + np.cumsum(np.random.default_rng(5).standard_normal((150, 200)), axis=1)
    assert np.mean([law_of(row).grows for row in rows]) <= 0.07


@pytest.mark.parametrize("curve", SETTLING.values(), ids=SETTLING)
def test_a_curve_that_settles_levels_off(curve):
    assert levels_off(noisy(400, curve))


@pytest.mark.parametrize("curve", [*GROWING.values(), *LEVEL.values()], ids=[*GROWING, *LEVEL])
def test_a_curve_that_does_not_settle_does_not_level_off(curve):
    assert not levels_off(noisy(400, curve))


@pytest.mark.parametrize("seed", range(8))
def test_the_second_half_is_where_the_first_half_leads(seed: int):
    values = noisy(400, lambda along: 50 + 100 * along, 8, seed)
    law = law_of(values[:200])
    ahead = np.arange(201, 401)
    assert [law.forecast(step) for step in ahead] == pytest.approx(50 + 100 * ahead / 400, rel=0.2)


def test_growth_since_lately_is_forecast_along_its_own_slope():
    law = law_of(noisy(1000, GROWING["late"], 0.3))
    assert law.forecast(2000) == pytest.approx(100 + 60 * 1.3, rel=0.05)


def test_values_at_steps_ever_further_apart_are_enough():
    steps = 2 ** np.arange(11)
    law = fit_law(steps, 1e6 + 4096 * steps)
    assert law.grows
    assert law.forecast(5000) == pytest.approx(1e6 + 4096 * 5000, rel=0.02)


def test_a_counter_that_explains_the_values_is_named():
    nodes = np.cumsum(np.random.default_rng(3).integers(0, 9, 500))
    law = fit_law(np.arange(500), 0.01 + 2e-5 * nodes, nodes)
    assert law.kind is Kind.COUNTER
    assert law.rate.value == pytest.approx(2e-5, rel=0.01)
    assert law.forecast(1000) == pytest.approx(0.01 + 2e-5 * 2 * nodes[-1], rel=0.1)


@pytest.mark.parametrize("seed", range(8))
def test_a_counter_is_seen_through_a_machine_that_is_faster_in_the_end(seed: int):
    counter = 100 + 8.0 * np.arange(400)
    values = counter * np.exp(0.1 * np.random.default_rng(seed).standard_normal(400))
    values[280:] *= 0.7
    law = fit_law(np.arange(400), values, counter)
    assert law.kind is Kind.COUNTER
    assert law.grows


@pytest.mark.parametrize("seed", range(8))
def test_a_counter_beside_values_that_settled_long_ago_drives_nothing(seed: int):
    counter = 100 + 8.0 * np.arange(400)
    values = np.minimum(counter, 250) * np.exp(
        0.1 * np.random.default_rng(seed).standard_normal(400)
    )
    assert not fit_law(np.arange(400), values, counter).grows


def test_a_counter_that_explains_nothing_is_left_aside():
    counter = np.random.default_rng(3).integers(0, 9, 500)
    assert fit_law(np.arange(500), noisy(500, GROWING["straight"]), counter).kind is Kind.LINEAR


def test_a_change_below_the_least_is_none():
    values = np.linspace(100, 103, 400)
    kinds = [fit_law(np.arange(400), values, least=least).kind for least in (0.01, 0.05)]
    assert kinds == [Kind.LINEAR, Kind.CONSTANT]


def test_quality_is_high_for_a_clean_line_and_nothing_for_noise():
    assert law_of(np.linspace(1, 2, 300)).quality > 0.99
    assert law_of(noisy(300, LEVEL["flat"])).quality < 0.1


# What goes with a counter


def test_step_time_that_follows_the_batch_is_seen_through_outliers():
    rng = np.random.default_rng(6)
    elements = rng.integers(10, 500, 800)
    seconds = 0.01 + 1e-4 * elements + 1e-3 * rng.standard_normal(800)
    seconds[::50] *= 10
    found = changed_with(seconds, elements)
    assert found.share > 0.85
    assert found.slope.value == pytest.approx(1e-4, rel=0.05)


def test_step_time_that_does_not_follow_the_batch_has_no_share():
    rng = np.random.default_rng(6)
    assert changed_with(rng.random(800), rng.integers(10, 500, 800)).share < 0.03


def test_the_share_is_spearmans_ties_included():
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(9)
    values, counter = rng.integers(0, 6, 100), rng.integers(0, 4, 100)
    expected = stats.spearmanr(values, counter).statistic ** 2
    assert changed_with(values, counter).share == pytest.approx(expected)


def test_a_counter_that_never_changes_explains_nothing():
    assert changed_with([1, 2, 3, 4, 5], [7] * 5).share == 0


# Ratios of trials


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("trials", [4, 10, 20])
def test_the_ratio_is_inside_its_interval_as_often_as_it_says(trials: int, paired: bool):
    rng = np.random.default_rng(10)
    held = []
    for _ in range(40):
        before, after = np.exp(0.04 * rng.standard_t(4, (2, trials)))
        _, low, high = bootstrap_ratio(1.5 * before, after, paired=paired)
        held.append(low <= 1.5 <= high)
    assert np.mean(held) >= 0.9


def test_pairs_see_through_a_machine_that_changes_speed():
    rng = np.random.default_rng(11)
    speed = np.exp(0.3 * rng.standard_normal(8))
    before, after = speed * 1.2, speed * np.exp(0.01 * rng.standard_normal(8))
    assert bootstrap_ratio(before, after, paired=True)[1] > 1.15
    assert bootstrap_ratio(before, after)[1] < 1


def test_one_trial_disturbed_does_not_move_the_ratio():
    ratio, _, _ = bootstrap_ratio(
        [2.0, 2.02, 1.98, 2.01, 9.0, 2.0], [1.0, 1.01, 0.99, 1.0, 1.0, 1.02]
    )
    assert ratio == pytest.approx(2, rel=0.03)


def test_a_seed_gives_the_same_interval_again():
    before, after = [3.0, 3.1, 2.9, 3.3], [2.0, 2.1, 2.2, 1.9]
    assert bootstrap_ratio(before, after, rng_seed=5) == bootstrap_ratio(before, after, rng_seed=5)


@pytest.mark.parametrize(
    ("before", "after"), [([], [1.0]), ([2.0], [1.0, 1.0]), ([0.0, 0.0], [1.0, 1.0])]
)
def test_too_few_trials_give_no_bounds(before: list[float], after: list[float]):
    assert bootstrap_ratio(before, after)[1:] == (0.0, math.inf)


# Any input


@settings(max_examples=100, deadline=None)
@given(PAIRS)
@example([(1, 1)] * 30)
@example([(step, 0) for step in range(30)])
def test_any_points_give_an_ordered_slope(points):
    found = slope([x for x, _ in points], [y for _, y in points])
    assert found.low <= found.value <= found.high


@settings(max_examples=100, deadline=None)
@given(st.lists(FINITE, max_size=90))
@example([0] * 40)
@example([5])
@example([0] * 20 + [1] * 20)
def test_any_values_give_a_finite_forecast(values):
    law = law_of(np.array(values, dtype=float))
    assert math.isfinite(law.forecast(1000))
    assert 0 <= law.quality <= 1
    assert not (law.grows and law.levels_off)


@settings(max_examples=50, deadline=None)
@given(PAIRS)
def test_any_counter_gives_a_finite_forecast(points):
    law = fit_law(
        range(len(points)), [value for value, _ in points], [counter for _, counter in points]
    )
    assert math.isfinite(law.forecast(1000))


@settings(max_examples=50, deadline=None)
@given(PAIRS)
def test_any_counter_explains_a_share_between_nothing_and_all(points):
    assert (
        0
        <= changed_with([value for value, _ in points], [counter for _, counter in points]).share
        <= 1
    )


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=12),
    st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=12),
)
def test_any_trials_give_an_ordered_interval(before, after):
    ratio, low, high = bootstrap_ratio(before, after)
    assert 0 < low <= ratio * (1 + 1e-9)
    assert ratio <= high * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([*GROWING.values(), *SETTLING.values(), *LEVEL.values()]), st.integers(0, 1000)
)
def test_a_law_does_not_depend_on_the_unit(curve, seed: int):
    values = noisy(200, curve, 1.0, seed)
    one, thousandfold = law_of(values), law_of(1000 * values)
    assert (one.kind, one.grows, one.levels_off) == (
        thousandfold.kind,
        thousandfold.grows,
        thousandfold.levels_off,
    )
    assert thousandfold.forecast(300) == pytest.approx(1000 * one.forecast(300))


def test_values_that_are_no_numbers_are_left_out():
    values = np.linspace(1, 2, 100)
    values[40:50] = np.nan
    assert law_of(values).forecast(200) == pytest.approx(3, rel=0.02)


def test_steps_that_do_not_advance_are_constant():
    assert fit_law([7] * 30, range(30)).kind is Kind.CONSTANT
