"""What only the body of an `if` reads is made there."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import Script
from unslow.fix.moves.reading_condition import under_reader

_LOOP = (
    "for step in range(99):\n    train()\n    loss, best = check(held_out)\n"
    "    if step % 10 == 0:\n        print(loss, best)\n"
)


def test_a_check_that_is_only_printed_moves_under_the_condition() -> None:
    moved = under_reader(Script("a.py", _LOOP), 3)
    assert moved is not None
    assert moved.text == (
        "for step in range(99):\n    train()\n"
        "    if step % 10 == 0:\n        loss, best = check(held_out)\n        print(loss, best)\n"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        print(loss, best)\n", "        print(loss, best)\n    stop(best)\n"),
        ("        print(loss, best)\n", "        print(loss, best)\nprint(best)\n"),
        ("if step % 10 == 0:", "if loss < 3:"),
        ("if step % 10 == 0:", "if verbose:"),
        ("    if step % 10", "    train()\n    if step % 10"),
        ("for step", "best = 0\nfor step"),
    ],
    ids=[
        "read in every step",
        "read after the loop",
        "read by the test",
        "no interval",
        "something in between",
        "bound before",
    ],
)
def test_other_values_stay_where_they_are(old: str, new: str) -> None:
    source = _LOOP.replace(old, new)
    line = source[: source.index("    loss, best")].count("\n") + 1
    assert under_reader(Script("a.py", source), line) is None
