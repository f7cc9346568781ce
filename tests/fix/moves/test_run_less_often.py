"""The move that makes a statement run less often."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.run_less_often import rarer


def test_a_statement_without_a_guard_gets_one() -> None:
    script = Script("a.py", "for step in range(9):\n    train()\n    save()\n")
    assert (
        rarer(script, 3, 50).text
        == "for step in range(9):\n    train()\n    if step % 50 == 0:\n        save()\n"
    )


def test_the_number_in_a_guard_is_multiplied() -> None:
    script = Script("a.py", "for i in range(9):\n    if (i + 1) % 10 == 0 and i:\n        save()\n")
    assert "(i + 1) % 500 == 0 and i" in rarer(script, 3, 50).text


def test_a_named_interval_is_left_to_the_user() -> None:
    script = Script("a.py", "for i in range(9):\n    if i % EVERY == 0:\n        save()\n")
    with pytest.raises(CannotEdit, match="EVERY"):
        rarer(script, 3, 50)


def test_statements_below_each_other_share_one_condition() -> None:
    source = "for step in range(9):\n    train()\n    write(a)\n    write(b)\n    rest()\n"
    text = rarer(Script("a.py", source), 3, 100, 4).text
    assert "    if step % 100 == 0:\n        write(a)\n        write(b)\n    rest()\n" in text
