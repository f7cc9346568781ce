"""What is drawn by probabilities that never change is looked up in their sums."""

from __future__ import annotations

import numpy as np
import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.choice_from_sums import choice_from_sums

_VOCABULARY = (
    "import numpy as np\n\nclass Vocabulary:\n    def __init__(self, freq, size):\n"
    "        self.size = size\n        self.kept = [freq[i] for i in range(size)]\n"
    "        self.odds = freq / freq.sum()\n\n    def draw(self, k):\n"
    "        return np.random.choice(self.size, size=k, p=self.odds)\n"
)


def edited(source: str, modules: dict[str, str] | None = None) -> str:
    line = next(n for n, row in enumerate(source.splitlines(), 1) if "choice(" in row)
    found = choice_from_sums(Script("a.py", source, modules), line)
    assert found is not None
    return found.text


def test_the_sums_are_made_behind_the_probabilities() -> None:
    text = edited(_VOCABULARY)
    assert (
        "        self.odds_sums = np.cumsum(self.odds, dtype=float)\n"
        "        self.odds_sums /= self.odds_sums[-1]\n\n"
    ) in text
    found = 'np.searchsorted(self.odds_sums, np.random.random(k), side="right")'
    assert f"        return {found}\n" in text


def test_the_same_numbers_are_drawn() -> None:
    drawn = []
    for source in (_VOCABULARY, edited(_VOCABULARY)):
        space: dict[str, type] = {}
        exec(source, space)
        np.random.seed(3)
        vocabulary = space["Vocabulary"](np.arange(1.0, 500.0), 499)
        drawn.append([vocabulary.draw(7).tolist() for _ in range(50)])
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("range(size)", "size", "from an array"),
        ("p=self.odds", "p=self.odds, replace=False", "not drawn by"),
        ("size=k, ", "", "not drawn by"),
        ("freq / freq.sum()", "freq", "changed in place"),
        (
            "    def draw",
            "    def mute(self):\n        self.odds[0] = 0\n\n    def draw",
            "in place",
        ),
        (
            "    def draw",
            "    def renew(self, o):\n        self.odds = o\n\n    def draw",
            "set again",
        ),
    ],
)
def test_what_may_draw_other_numbers_is_left_alone(old: str, new: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        edited(_VOCABULARY.replace(old, new))


def test_another_file_that_sets_an_item_stands_in_the_way() -> None:
    with pytest.raises(CannotEdit, match="changed in place"):
        edited(_VOCABULARY, {"a.py": _VOCABULARY, "b.py": "v.odds[2] = 0\n"})


def test_a_choice_of_equal_chances_is_none_of_its_business() -> None:
    source = _VOCABULARY.replace(", p=self.odds", "")
    assert choice_from_sums(Script("a.py", source), 10) is None
