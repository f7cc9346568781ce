"""Several names in a sentence."""

from __future__ import annotations

import pytest

from unslow.analyse.listing import listed


@pytest.mark.parametrize(
    ("names", "text"),
    [("a", "a"), ("ab", "a and b"), ("abc", "a, b and c"), ("abcde", "a, b, c and 2 more")],
)
def test_names_in_a_sentence(names: str, text: str) -> None:
    assert listed(list(names)) == text
