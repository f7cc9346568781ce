"""What pairs of trials decide."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bench import ci_noise
from bench.ci_noise import (
    CHOSEN,
    FIGURES,
    PAGE,
    PULL_REQUESTS,
    REGRESSIONS,
    SLOWDOWNS,
    page,
    recorded_noise,
    simulate,
)
from unslow.compare.regression import CHECKPOINTS, Decision, decide, is_decided

RESULTS = json.loads(ci_noise.RESULTS.read_text(encoding="utf-8"))
RECORDED = json.loads(ci_noise.RECORDED.read_text(encoding="utf-8"))


def pairs(
    slowdown: float, noise: float, count: int, seed: int = 0
) -> tuple[list[float], list[float]]:
    rng = np.random.default_rng(seed)
    after = (1 + slowdown) * np.exp(rng.normal(0, noise, count))
    return [1.0] * count, after.tolist()


def test_ten_pairs_that_are_all_slower_are_a_regression() -> None:
    assert decide(*pairs(0.05, 0.005, 10), limit=0.02) is Decision.REGRESSED


def test_nine_pairs_can_not_be_sure() -> None:
    assert decide(*pairs(0.05, 0.005, 9), limit=0.02) is not Decision.REGRESSED


def test_one_burst_of_other_work_does_not_hide_a_regression() -> None:
    before, after = pairs(0.05, 0.005, 20)
    before[3] *= 3
    assert decide(before, after, limit=0.02) is Decision.REGRESSED


def test_a_slowdown_within_the_limit_is_fine() -> None:
    assert decide(*pairs(0.01, 0.002, 10), limit=0.02) is Decision.FINE


def test_a_faster_head_is_fine() -> None:
    assert decide(*pairs(-0.1, 0.02, 10), limit=0.02) is Decision.FINE


def test_noise_is_not_decided() -> None:
    after = [1.3, 0.8, 1.2, 0.9, 1.25, 0.85, 1.1, 0.95]
    assert decide([1.0] * 8, after, limit=0.02) is Decision.OPEN


@pytest.mark.parametrize("count", [2, 9, 11, 19])
def test_only_planned_looks_may_end_the_trials(count: int) -> None:
    assert not is_decided(*pairs(0.5, 0.001, count), limit=0.02)
    assert is_decided(*pairs(0.5, 0.001, CHECKPOINTS[0]), limit=0.02)


def test_a_tie_at_zero_is_no_sign_of_a_slowdown() -> None:
    assert decide([1.0] * 10, [1.0] * 10, limit=0.02) is Decision.FINE


def test_the_published_results_are_those_of_the_code() -> None:
    noise = list(recorded_noise(RECORDED).values())
    kept = RESULTS["trainings"]["all"]["slower by"]["5%"]
    assert simulate(noise, 0.05, SLOWDOWNS.index(0.05)) == kept, "run python bench/ci_noise.py"
    assert PAGE.read_text(encoding="utf-8") == page(RESULTS, RECORDED)


def test_at_most_one_in_a_hundred_pull_requests_without_a_change_is_commented() -> None:
    commented = RESULTS["trainings"]["all"]["slower by"]["0%"]["commented"]
    assert commented <= 0.01 * PULL_REQUESTS


def test_a_slowdown_of_five_per_cent_is_found_in_95_of_100() -> None:
    found = RESULTS["trainings"]["all"]["slower by"]["5%"]["commented"]
    assert found >= 0.95 * PULL_REQUESTS


@pytest.mark.parametrize("change", REGRESSIONS)
def test_the_figure_that_is_compared_shows_every_regression(change: str) -> None:
    steps = np.random.default_rng(1).lognormal(0, 0.2, 400)
    figure = FIGURES[CHOSEN]
    assert figure(REGRESSIONS[change](steps)) / figure(steps) == pytest.approx(1.05, abs=1e-6)
