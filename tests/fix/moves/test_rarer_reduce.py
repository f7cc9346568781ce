"""A value for the log is reduced over all workers only where it is read."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.rarer_reduce import reduce_rarely

_LOOP = "for step in range(300):\n    loss = strategy.reduce(op, train(next(data)), axis=None)\n"


def rarer(text: str, line: int = 2) -> str:
    return reduce_rarely(Script("a.py", text), line, 100).text


def test_it_moves_under_the_condition_that_reads_it_and_the_step_stays() -> None:
    text = rarer(_LOOP + "    if step % 50 == 0:\n        print(float(loss))\n")
    assert text == (
        "for step in range(300):\n"
        "    per_replica = train(next(data))\n"
        "    if step % 50 == 0:\n"
        "        loss = strategy.reduce(op, per_replica, axis=None)\n"
        "        print(float(loss))\n"
    )


def test_a_local_name_of_a_function_is_another_one() -> None:
    step = "def train(batch):\n    loss = batch\n    return loss\n"
    text = rarer(step + _LOOP + "    if step % 50 == 0:\n        print(float(loss))\n", 5)
    assert "    if step % 50 == 0:\n        loss = strategy.reduce(" in text


def test_a_value_that_is_only_kept_is_kept_every_hundred_steps() -> None:
    text = rarer(
        "for step in range(300):\n"
        "    losses = train(next(data))\n"
        "    history.append(strategy.reduce(op, losses, axis=None))\n",
        3,
    )
    assert "    if step % 100 == 0:\n        history.append(strategy.reduce(" in text
    assert "\n    losses = train(next(data))\n" in text


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("step % 50 == 0 and index == 0", "differ between workers"),
        ("step % every() == 0", "differ between workers"),
        ("loud", "read afterwards"),
    ],
)
def test_workers_that_would_not_all_reduce_would_wait_for_ever(condition: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        rarer(_LOOP + f"    if {condition}:\n        print(float(loss))\n")


def test_a_value_that_every_step_reads_is_left_alone() -> None:
    with pytest.raises(CannotEdit, match="read afterwards"):
        rarer(_LOOP + "    total = total + loss\n")
