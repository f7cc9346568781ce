"""Numbers in the words of a finding."""

from __future__ import annotations

import pytest

from unslow.analyse import wording as say
from unslow.analyse.memory.process_memory import steps_until_full


@pytest.mark.parametrize(
    ("value", "shown"),
    [(19_672.4, 19_700), (999.6, 1_000), (412.0, 412), (7.2, 7), (0.2, 0), (1_234_567, 1_230_000)],
)
def test_an_estimate_has_three_digits(value: float, shown: int) -> None:
    assert say.estimate(value) == shown


def test_a_forecast_in_steps_is_an_estimate() -> None:
    assert steps_until_full(23.7e9, 1_204_700) == "out of memory in about 19,700 steps"
    assert steps_until_full(0.0, 1_204_700) == ""


@pytest.mark.parametrize(
    ("names", "text"),
    [("a", "a"), ("ab", "a and b"), ("abc", "a, b and c"), ("abcde", "a, b, c and 2 more")],
)
def test_names_in_a_sentence(names: str, text: str) -> None:
    assert say.listed(list(names)) == text
