"""Trends of step times: what is steady stays steady, what drifts or jumps is found, what recurs is counted."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from unslow.analyse.stats.trend import trend_of
from unslow.model import Shape, Trend

NOISE = 0.1
MOVED = (Shape.DRIFTING, Shape.JUMPED)


def autoregressive(rng: np.random.Generator, series: int, size: int, rho: float) -> np.ndarray:
    """Rows of unit variance in which each value remembers the one before."""
    shocks = rng.standard_normal((size, series)) * math.sqrt(1 - rho * rho)
    shocks[0] /= math.sqrt(1 - rho * rho)
    for at in range(1, size):
        shocks[at] += rho * shocks[at - 1]
    return shocks.T


def lognormal(rng: np.random.Generator, series: int, size: int) -> np.ndarray:
    return np.exp(NOISE * rng.standard_normal((series, size)))


def student(rng: np.random.Generator, series: int, size: int) -> np.ndarray:
    return np.maximum(1 + NOISE * rng.standard_t(2.5, (series, size)) / math.sqrt(5), 0.05)


def gamma(rng: np.random.Generator, series: int, size: int) -> np.ndarray:
    return rng.gamma(NOISE**-2, NOISE**2, (series, size))


def spiky(rng: np.random.Generator, series: int, size: int) -> np.ndarray:
    return lognormal(rng, series, size) * np.where(rng.random((series, size)) < 0.01, 10.0, 1.0)


def half_remembered(rng: np.random.Generator, series: int, size: int) -> np.ndarray:
    return np.exp(NOISE * autoregressive(rng, series, size, 0.5))


def remembered(rng: np.random.Generator, series: int, size: int) -> np.ndarray:
    return np.exp(NOISE * autoregressive(rng, series, size, 0.8))


def two_speeds(rng: np.random.Generator, series: int, size: int) -> np.ndarray:
    """Batches of two sizes in no order: no block has a clear middle."""
    return np.where(rng.random((series, size)) < 0.4, 1.0, 1.2) + 0.02 * rng.standard_normal(
        (series, size)
    )


def spells(rng: np.random.Generator, series: int, size: int) -> np.ndarray:
    """A machine that is now faster, now slower by up to a third, for some thirty steps at a time."""
    rows = lognormal(rng, series, size)
    for row in rows:
        ends = np.cumsum(1 + rng.exponential(30, size)).astype(int)
        row *= rng.uniform(0.65, 1.35, size)[np.searchsorted(ends, np.arange(size), side="right")]
    return rows


Noise = Callable[[np.random.Generator, int, int], np.ndarray]
INDEPENDENT: list[Noise] = [lognormal, student, gamma, spiky]
NOISES: list[Noise] = [*INDEPENDENT, half_remembered, remembered, two_speeds]


def started(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """Rows with a start-up: one to five first steps of twice to a hundred times the usual time."""
    rows = rows.copy()
    long = int(rng.integers(1, 6))
    rows[:long] *= rng.uniform(2, 100, long)
    return rows


def trends(
    noise: Noise,
    shape: Callable[[np.random.Generator, np.ndarray], np.ndarray],
    series: int,
    size: int,
):
    rng = np.random.default_rng(20)
    along = np.linspace(0.0, 1.0, size)
    return [trend_of(started(rng, rows * shape(rng, along))) for rows in noise(rng, series, size)]


def share(found: list[Trend], *shapes: Shape) -> float:
    return sum(trend.shape in shapes for trend in found) / len(found)


def drift(change: float) -> Callable[[np.random.Generator, np.ndarray], np.ndarray]:
    return lambda rng, along: 1 + change * along


def jump(change: float) -> Callable[[np.random.Generator, np.ndarray], np.ndarray]:
    return lambda rng, along: 1 + change * (along > rng.uniform(0.1, 0.9))


def up_or_down(
    change: Callable[[float], Callable],
) -> Callable[[np.random.Generator, np.ndarray], np.ndarray]:
    """By a fifth of the lower end, either way."""
    return lambda rng, along: change(0.2 if rng.random() < 0.5 else -1 / 6)(rng, along)


def with_long_steps(size: int, period: int, times: float, seed: int = 3) -> np.ndarray:
    rows = lognormal(np.random.default_rng(seed), 1, size)[0]
    rows[period - 1 :: period] *= times
    return rows


# What is steady


def test_of_a_thousand_stationary_series_at_most_ten_are_said_to_move():
    rng = np.random.default_rng(7)
    sizes = [500, 800, 1300, 2100, 5000]
    found = [
        trend_of(started(rng, rows))
        for size in sizes
        for noise in NOISES
        for rows in noise(rng, -(-1000 // (len(sizes) * len(NOISES))), size)
    ]
    assert len(found) >= 1000
    assert share(found, *MOVED) <= 0.01


@pytest.mark.parametrize("noise", INDEPENDENT)
def test_short_series_of_noise_are_not_said_to_move(noise: Noise):
    found = [trend for size in (20, 50, 120) for trend in trends(noise, drift(0.0), 40, size)]
    assert share(found, *MOVED) <= 0.01


def test_noise_that_remembers_is_not_said_to_move_in_short_runs():
    assert share(trends(remembered, drift(0.0), 150, 120), *MOVED) <= 0.02


def test_a_machine_in_spells_is_not_said_to_drift():
    assert share(trends(spells, drift(0.0), 100, 1000), Shape.DRIFTING) <= 0.02


@pytest.mark.parametrize("change", [drift(0.03), jump(0.03), drift(-0.03)])
def test_less_than_five_per_cent_is_steady(change):
    assert share(trends(lognormal, change, 30, 4000), Shape.STEADY) >= 0.99


def test_a_few_long_warm_up_steps_leave_no_trace():
    rows = [40.0, 12.0, 3.0, 2.5, 2.0, *[1.0] * 20]
    assert trend_of(rows) == Trend(Shape.STEADY, 1.0, 1.0)


def test_a_slow_spell_that_passes_is_not_a_change():
    rows = lognormal(np.random.default_rng(1), 1, 1000)[0]
    rows[600:700] *= 2
    assert trend_of(rows).shape is Shape.STEADY


@pytest.mark.parametrize(("step", "shape"), [(0.001, Shape.STEADY), (0.01, Shape.JUMPED)])
def test_a_slow_end_that_lasts_an_instant_is_not_a_change(step: float, shape: Shape):
    assert trend_of(step * np.where(np.arange(150) < 130, 1.0, 1.6)).shape is shape


def test_a_slow_spell_does_not_hide_a_drift():
    rows = lognormal(np.random.default_rng(1), 1, 1000)[0] * np.linspace(1, 1.5, 1000)
    rows[300:380] *= 2
    assert trend_of(rows).shape is Shape.DRIFTING


# What moves


@pytest.mark.parametrize("noise", INDEPENDENT)
def test_a_drift_of_a_fifth_is_found(noise: Noise):
    assert share(trends(noise, up_or_down(drift), 120, 500), Shape.DRIFTING) >= 0.99


@pytest.mark.parametrize("noise", INDEPENDENT)
def test_a_jump_of_a_fifth_is_found(noise: Noise):
    assert share(trends(noise, up_or_down(jump), 120, 500), Shape.JUMPED) >= 0.99


@pytest.mark.parametrize("noise", [half_remembered, remembered])
@pytest.mark.parametrize("change", [drift(0.2), jump(0.2)])
def test_remembering_noise_hides_no_change_of_a_fifth_in_long_runs(noise: Noise, change):
    assert share(trends(noise, change, 100, 5000), *MOVED) >= 0.99


def test_a_drift_has_its_slope_and_its_ends():
    trend = trends(lognormal, drift(0.5), 1, 2000)[0]
    assert trend.slope_low < 0.5 / 2000 < trend.slope_high
    assert (trend.before, trend.after) == (
        pytest.approx(1.0, rel=0.03),
        pytest.approx(1.5, rel=0.03),
    )


def test_the_slope_interval_holds_the_slope_as_often_as_it_says():
    found = [
        trend
        for trend in trends(half_remembered, drift(0.5), 120, 800)
        if trend.shape is Shape.DRIFTING
    ]
    held = [trend.slope_low <= 0.5 / 799 <= trend.slope_high for trend in found]
    assert np.mean(held) >= 0.92


def test_getting_faster_is_a_drift_with_a_negative_slope_and_change():
    trend = trend_of(np.linspace(2.0, 1.0, 300))
    assert trend.shape is Shape.DRIFTING
    assert trend.slope_high < 0
    assert trend.change == pytest.approx(-0.5, abs=0.05)


def test_a_jump_is_placed_at_its_first_step():
    assert trend_of([1.0] * 333 + [1.3] * 667).at_step == 334


def test_a_jump_is_placed_within_a_few_steps_in_noise():
    rows = lognormal(np.random.default_rng(5), 1, 2000)[0]
    rows[1200:] *= 1.3
    assert abs((trend_of(rows).at_step or 0) - 1201) <= 5


def test_single_long_steps_do_not_hide_a_jump_in_few_steps():
    rows = lognormal(np.random.default_rng(5), 1, 45)[0]
    rows[22:] *= 1.6
    rows[[9, 16, 30, 38]] *= 10
    assert trend_of(rows).shape is Shape.JUMPED


def test_a_slow_drift_is_no_staircase():
    steps = np.arange(3000)
    assert trend_of(1 + np.floor(steps / 100) * 0.02).shape is Shape.DRIFTING


@pytest.mark.parametrize(
    "curve",
    [
        lambda along: 1 + along**2,
        lambda along: np.exp(3 * along),
        lambda along: 1 + np.maximum(along - 0.6, 0),
        lambda along: 2 - np.exp(-5 * along),
    ],
    ids=["square", "exponential", "late", "settling"],
)
def test_growth_need_not_be_straight_to_be_a_drift(curve):
    rows = lognormal(np.random.default_rng(2), 1, 1500)[0] * curve(np.linspace(0, 1, 1500))
    assert trend_of(rows).shape is Shape.DRIFTING


def test_a_graph_that_grows_twentyfold_is_told_from_end_to_end():
    trend = trend_of(np.linspace(0.019, 0.433, 1500))
    assert trend.change == pytest.approx(0.433 / 0.019 - 1, rel=0.25)


def test_the_ends_of_a_bent_growth_are_those_of_the_rows():
    trend = trend_of(np.exp(3 * np.linspace(0, 1, 1500)))
    assert (trend.before, trend.after) == (
        pytest.approx(1, rel=0.15),
        pytest.approx(math.e**3, rel=0.15),
    )


def test_a_step_that_becomes_three_times_as_long_is_seen_on_a_machine_in_spells():
    assert share(trends(spells, drift(1.8), 100, 1000), Shape.STEADY) <= 0.06


# What recurs


@pytest.mark.parametrize(
    ("period", "times"), [(2, 3), (3, 3), (4, 3), (4, 10), (10, 2), (50, 5), (100, 10)]
)
def test_long_steps_at_equal_distances_are_periodic(period: int, times: float):
    trend = trend_of(with_long_steps(1000, period, times))
    assert (trend.shape, trend.period) == (Shape.PERIODIC, period)


def test_a_retrace_in_every_fourth_call_is_seen_in_forty_steps():
    assert trend_of(with_long_steps(40, 4, 8)).period == 4


def test_an_evaluation_in_every_hundredth_step_is_seen_in_five_hundred():
    assert trend_of(with_long_steps(500, 100, 10)).period == 100


def test_the_time_of_the_other_steps_is_told_without_the_long_ones():
    assert trend_of(with_long_steps(1000, 2, 3)).before == pytest.approx(1, rel=0.03)


def test_the_spike_is_what_a_long_step_takes():
    trend = trend_of(with_long_steps(1000, 50, 6))
    assert trend.spike == pytest.approx(6, rel=0.1)
    assert trend.before == trend.after == pytest.approx(1, rel=0.02)


def test_stray_long_steps_do_not_hide_a_period():
    rows = with_long_steps(1000, 50, 6)
    rows[np.random.default_rng(1).integers(0, 1000, 10)] *= 8
    assert trend_of(rows).period == 50


def test_a_save_by_the_clock_is_periodic_although_its_distances_vary():
    rng = np.random.default_rng(4)
    rows = lognormal(rng, 1, 2000)[0]
    rows[np.cumsum(rng.normal(100, 3, 18)).astype(int)] *= 20
    assert trend_of(rows).period == pytest.approx(100, abs=3)


def test_of_two_periods_the_one_that_takes_more_time_is_told():
    rows = with_long_steps(1000, 10, 1.8)
    rows[99::100] *= 10
    assert trend_of(rows).period == 100


def test_long_steps_at_random_are_not_periodic():
    found = trends(spiky, drift(0.0), 100, 1000)
    assert share(found, Shape.PERIODIC) <= 0.02


def test_a_drift_that_takes_more_time_than_the_long_steps_wins():
    rows = with_long_steps(1000, 100, 5) * np.linspace(1, 1.5, 1000)
    assert trend_of(rows).shape is Shape.DRIFTING


def test_long_steps_that_take_more_time_than_a_drift_win_and_do_not_hide_it():
    trend = trend_of(with_long_steps(1000, 100, 20) * np.linspace(1, 1.2, 1000))
    assert trend.shape is Shape.PERIODIC
    assert trend.change == pytest.approx(0.2, abs=0.05)


def test_long_steps_that_grow_ever_longer_are_a_drift():
    rows = with_long_steps(1000, 4, 1)
    rows[3::4] *= np.linspace(10, 50, 250)
    assert trend_of(rows).shape is Shape.DRIFTING


# Rows of several steps


def test_merged_rows_count_as_their_steps():
    assert trend_of([1.0] * 100 + [1.5] * 100, count=[8] * 200).at_step == 801


def test_a_slope_is_per_step_not_per_row():
    assert trend_of(np.linspace(1, 2, 200), count=[10] * 200).slope == pytest.approx(
        1 / 1990, rel=0.01
    )


def test_merging_spiky_steps_half_way_is_not_a_jump():
    rows = spiky(np.random.default_rng(6), 1, 51_000)[0]
    merged = np.concatenate([rows[:1000], rows[1000:].reshape(-1, 50).mean(axis=1)])
    assert trend_of(merged, [1] * 1000 + [50] * 1000).shape is Shape.STEADY


# Odd input


@pytest.mark.parametrize("size", [0, 1, 2, 19])
def test_few_rows_are_unknown(size: int):
    assert trend_of([1.0] * size).shape is Shape.UNKNOWN


def test_rows_that_are_no_numbers_are_left_out_and_still_counted_as_steps():
    rows = np.array([1.0] * 300 + [2.0] * 300)
    rows[50:60] = np.nan
    assert trend_of(rows).at_step == 301


def test_one_row_of_many_steps_after_few_single_ones_is_unknown():
    assert trend_of([1.0] * 20, [1] * 19 + [1000]).shape is Shape.UNKNOWN


def consistent(trend: Trend) -> bool:
    numbers = [
        trend.before,
        trend.after,
        trend.slope,
        trend.slope_low,
        trend.slope_high,
        trend.spike,
        trend.change,
    ]
    return (
        all(math.isfinite(number) for number in numbers)
        and trend.slope_low <= trend.slope <= trend.slope_high
        and (trend.at_step is not None) == (trend.shape is Shape.JUMPED)
        and (trend.period is not None) == (trend.shape is Shape.PERIODIC)
        and (trend.slope != 0) <= (trend.shape is Shape.DRIFTING)
    )


ROWS = st.lists(st.floats(0, 1000) | st.integers(0, 3), max_size=150)


@settings(max_examples=150, deadline=None)
@given(ROWS)
@example([0] * 60)
@example([0] * 50 + [1] * 50)
@example([1, 0] * 40)
def test_any_rows_give_finite_and_consistent_numbers(rows):
    assert consistent(trend_of(rows))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 10), st.integers(1, 64)), min_size=20, max_size=150))
def test_any_counts_give_finite_and_consistent_numbers(rows):
    trend = trend_of([seconds for seconds, _ in rows], [count for _, count in rows])
    assert consistent(trend)
    assert 1 <= (trend.at_step or 1) <= sum(count for _, count in rows)


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-7, 1e5), st.integers(20, 300))
def test_equal_rows_are_steady(seconds: float, size: int):
    trend = trend_of([seconds] * size)
    assert (trend.shape, trend.before) == (Shape.STEADY, pytest.approx(seconds))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([drift(0.0), drift(0.4), jump(0.4)]),
    st.sampled_from([60, 700]),
)
def test_milliseconds_have_the_trend_of_seconds(seed: int, shape, size: int):
    rng = np.random.default_rng(seed)
    rows = lognormal(rng, 1, size)[0] * shape(rng, np.linspace(0, 1, size))
    seconds, thousandfold = trend_of(rows), trend_of(1000 * rows)
    assert (seconds.shape, seconds.at_step, seconds.period) == (
        thousandfold.shape,
        thousandfold.at_step,
        thousandfold.period,
    )
    assert thousandfold.slope == pytest.approx(1000 * seconds.slope)
    assert thousandfold.change == pytest.approx(seconds.change)


def test_integers_are_taken_as_numbers():
    assert trend_of([1] * 50 + [2] * 50) == trend_of([1.0] * 50 + [2.0] * 50)
