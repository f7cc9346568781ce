"""The test for a slow-down: reported once and in time, and nothing else is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from unslow.watch.blocks import BLOCK, Block
from unslow.watch.load import Usage
from unslow.watch.slowdown import SlowdownTest, Slower

ALONE = Usage(0.5, 0.01, 2.5)


def block(at: int, step: float, element: float = math.nan, site: int = 0) -> Block:
    return Block(at * BLOCK, (at + 1) * BLOCK, site, 0, step, element, step)


def fed(steps: Any, usage: Usage = ALONE, share: float = 0.1) -> list[tuple[int, Slower]]:
    test = SlowdownTest(share)
    found = [(at, test.add(block(at, float(step)), usage)) for at, step in enumerate(steps)]
    return [(at, slower) for at, slower in found if slower is not None]


def noisy(size: int, sigma: float, seed: int = 0) -> Any:
    return 0.05 * np.exp(np.random.default_rng(seed).normal(0, sigma, size))


def test_a_steady_training_is_quiet() -> None:
    assert not fed(noisy(6000, 0.05))


def test_ten_percent_are_reported_once_within_a_minute() -> None:
    steps = noisy(600, 0.03)
    steps[200:] *= 1.10
    (told,) = fed(steps)
    assert 200 + 6 <= told[0] < 212
    assert told[1].share == pytest.approx(0.10, abs=0.03)
    assert told[1].since == pytest.approx(200 * BLOCK, abs=15)
    assert told[1].before == pytest.approx(0.05, rel=0.02)


def test_less_than_the_stated_share_is_not_reported() -> None:
    steps = noisy(2000, 0.01)
    steps[200:] *= 1.06
    assert not fed(steps)


def test_the_share_can_be_chosen() -> None:
    steps = noisy(600, 0.02)
    steps[200:] *= 1.20
    assert not fed(steps, share=0.5) and len(fed(steps, share=0.1)) == 1


def test_half_a_minute_of_anything_is_a_disturbance() -> None:
    steps = noisy(2000, 0.01)
    for at in range(200, 2000, 200):
        steps[at : at + 6] *= 5
    assert not fed(steps)


def test_noise_delays_the_report_instead_of_causing_false_ones() -> None:
    steps = noisy(3000, 0.15, seed=3)
    steps[1000:] *= 1.3
    (told,) = fed(steps)
    assert told[0] >= 1006


def test_a_slow_drift_is_reported_when_it_has_added_up() -> None:
    steps = noisy(1500, 0.02) * np.linspace(1, 1.5, 1500)
    told = fed(steps)
    assert 1 <= len(told) <= 3  # again only after as much has been added once more


def test_it_is_reported_again_only_when_as_much_has_been_added() -> None:
    steps = noisy(1200, 0.02)
    steps[200:] *= 1.3
    steps[500:] *= 1.1
    steps[800:] *= 1.4
    assert [at // 100 for at, _ in fed(steps)] == [2, 8]


def test_after_a_recovery_the_next_slow_down_is_another_matter() -> None:
    steps = noisy(1200, 0.02)
    steps[200:400] *= 1.3
    steps[700:] *= 1.3
    assert [at // 100 for at, _ in fed(steps)] == [2, 7]


def test_larger_batches_are_no_slow_down() -> None:
    test = SlowdownTest()
    for at in range(800):
        larger = 2.0 if at >= 300 else 1.0
        assert test.add(block(at, 0.05 * larger, 0.001), ALONE) is None


def test_a_load_that_is_new_is_not_compared_with_a_quiet_machine() -> None:
    test = SlowdownTest()
    for at, step in enumerate(noisy(800, 0.02)):
        busy = at >= 300
        usage = Usage(0.8, 0.4, 2.0) if busy else ALONE
        assert test.add(block(at, step * (1.4 if busy else 1)), usage) is None


def test_on_a_crowded_machine_processor_time_is_judged() -> None:
    """The wall's time doubles because of others: nothing. The work grows by half: reported."""
    test = SlowdownTest()
    told = []
    for at, step in enumerate(noisy(800, 0.3)):
        own = 0.010 * (1.5 if at >= 500 else 1.0)  # processor seconds a step
        wall = step * (2.0 if at >= 300 else 1.0)
        found = test.add(block(at, wall), Usage(1.0, 0.8, own * BLOCK / wall))
        told += [(at, found)] if found else []
    ((at, found),) = told
    assert 506 <= at < 520 and found.by_work
    assert found.now == pytest.approx(0.015, rel=0.02)


def test_work_of_every_second_is_not_taken_for_work_of_longer_steps() -> None:
    """Others leave ever less: steps take five times as long, and what else runs weighs more."""
    test = SlowdownTest()
    for at, noise in enumerate(np.random.default_rng(5).normal(0, 0.03, 800)):
        wall = 0.1 * (5.0 if at >= 400 else 1.0)
        own = (0.015 + 0.015 * wall) * math.exp(noise)
        found = test.add(block(at, wall), Usage(1.0, 0.9, own / wall * BLOCK))
        assert found is None, at


def beside_another(cpu: float, wait: float, seed: int) -> list[tuple[int, Slower]]:
    """A training beside another one, on a machine with room for both; slower from block 300 on."""
    test = SlowdownTest()
    told = []
    for at, noise in enumerate(np.random.default_rng(seed).normal(0, 0.03, 600)):
        slow = at >= 300
        own = 0.0157 * (cpu if slow else 1.0) * math.exp(noise)
        wall = own + 0.020 * (wait if slow else 1.0)
        found = test.add(block(at, wall), Usage(0.45, 0.22, own / wall * BLOCK))
        told += [(at, found)] if found else []
    return told


def test_beside_others_more_work_a_step_is_reported_once() -> None:
    """The wall's time grows by a sixth, which neighbors could explain; the work by 41%."""
    ((at, found),) = beside_another(cpu=1.41, wait=1.0, seed=1)
    assert 306 <= at < 312 and found.by_work
    assert found.before == pytest.approx(0.0157, rel=0.02)


def test_beside_others_a_longer_wait_is_reported_once() -> None:
    ((at, found),) = beside_another(cpu=1.0, wait=1.8, seed=2)
    assert 306 <= at < 312 and not found.by_work


def test_what_both_measures_show_is_reported_once() -> None:
    assert len(beside_another(cpu=1.8, wait=1.8, seed=3)) == 1


def test_more_work_in_the_same_time_is_no_slow_down() -> None:
    """Threads that spin while they wait for each other, for example."""
    assert not beside_another(cpu=1.5, wait=0.6, seed=4)


def test_another_loop_has_a_speed_of_its_own() -> None:
    test = SlowdownTest()
    for at, step in enumerate(noisy(800, 0.02)):
        second = at >= 400
        assert test.add(block(at, step * (3 if second else 1), site=int(second)), ALONE) is None


def test_what_is_kept_is_bounded() -> None:
    test = SlowdownTest()
    for at, step in enumerate(noisy(5000, 0.02)):
        test.add(block(at, step), ALONE)
    kept = sum(len(pasts.wall.step._entries) for pasts in test._pasts.values())
    assert kept <= 1024 and len(test._waiting) <= 24
