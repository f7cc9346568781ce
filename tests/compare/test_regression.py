"""What pairs of trials decide."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bench import ci_noise
from bench.ci_noise import (
    CLASSES,
    PAGE,
    PULL_REQUESTS,
    SLOWDOWNS,
    page,
    recorded_noise,
    simulate,
    spread,
)
from unslow.compare.regression import LOOKS, Decision, decide, is_decided

RESULTS = json.loads(ci_noise.RESULTS.read_text(encoding="utf-8"))


def pairs(
    slowdown: float, noise: float, count: int, seed: int = 0
) -> tuple[list[float], list[float]]:
    rng = np.random.default_rng(seed)
    after = (1 + slowdown) * np.exp(rng.normal(0, noise, count))
    return [1.0] * count, after.tolist()


def test_eight_pairs_that_are_all_slower_are_a_regression() -> None:
    assert decide(*pairs(0.05, 0.005, 8), limit=0.02) is Decision.REGRESSED


def test_seven_pairs_can_not_be_sure() -> None:
    assert decide(*pairs(0.05, 0.005, 7), limit=0.02) is not Decision.REGRESSED


def test_one_burst_of_other_work_does_not_hide_a_regression() -> None:
    before, after = pairs(0.05, 0.005, 16)
    before[3] *= 3
    assert decide(before, after, limit=0.02) is Decision.REGRESSED


def test_a_slowdown_within_the_limit_is_fine() -> None:
    assert decide(*pairs(0.01, 0.002, 8), limit=0.02) is Decision.FINE


def test_a_faster_head_is_fine() -> None:
    assert decide(*pairs(-0.1, 0.02, 8), limit=0.02) is Decision.FINE


def test_noise_is_not_decided() -> None:
    after = [1.3, 0.8, 1.2, 0.9, 1.25, 0.85, 1.1, 0.95]
    assert decide([1.0] * 8, after, limit=0.02) is Decision.OPEN


@pytest.mark.parametrize("count", [2, 7, 9, 15])
def test_only_planned_looks_may_end_the_trials(count: int) -> None:
    assert not is_decided(*pairs(0.5, 0.001, count), limit=0.02)
    assert is_decided(*pairs(0.5, 0.001, LOOKS[0]), limit=0.02)


def test_the_published_results_are_those_of_the_code() -> None:
    noise = [gaps for gaps in recorded_noise() if spread(gaps) < CLASSES["quiet, up to 2%"][1]]
    kept = RESULTS["classes"]["quiet, up to 2%"]["slower by"]["5%"]
    assert simulate(noise, 0.05, SLOWDOWNS.index(0.05)) == kept, "run python bench/ci_noise.py"
    assert PAGE.read_text(encoding="utf-8") == page(RESULTS), "run python bench/ci_noise.py"


def test_at_most_one_in_a_hundred_pull_requests_without_a_change_is_commented() -> None:
    for rows in RESULTS["classes"].values():
        assert rows["slower by"]["0%"]["commented"] <= 0.01 * PULL_REQUESTS


def test_a_slowdown_of_five_per_cent_is_found_where_noise_allows() -> None:
    for name in ("quiet, up to 2%", "usual, 2% to 5%"):
        found = RESULTS["classes"][name]["slower by"]["5%"]["commented"]
        assert found >= 0.95 * PULL_REQUESTS
