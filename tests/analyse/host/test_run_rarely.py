"""How rarely work must be done to cost next to nothing."""

from __future__ import annotations

from unslow.analyse.host.run_rarely import rare_interval


def test_work_that_takes_as_long_as_the_rest_is_left_to_one_step_in_a_hundred() -> None:
    assert rare_interval(1.0, rest=1.0, steps=10**9) == 100


def test_cheap_work_is_still_done_in_one_step_of_ten() -> None:
    assert rare_interval(1e-9, rest=1.0, steps=10**9) == 10


def test_work_with_nothing_beside_it_has_an_interval() -> None:
    assert rare_interval(1.0, rest=0.0, steps=10**9) == 10**8


def test_in_a_short_run_it_is_still_done_twice() -> None:
    assert rare_interval(1.0, rest=1.0, steps=120) == 50
    assert rare_interval(1.0, rest=1.0, steps=3) == 10
