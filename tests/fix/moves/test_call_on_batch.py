"""`evaluate` on a few rows becomes `test_on_batch`, with the metrics reset before it."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.call_on_batch import gives_only, reset_metrics_before

_TAKEN = (2, ("x", "y"))


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ("x, y, verbose=0", True),
        ("*held_out, verbose=0", True),
        ("x=a, y=b, batch_size=64", True),
        ("x, y, 64", False),
        ("x, *rest", False),
        ("x, y, steps=3", False),
        ("x, **options", False),
    ],
)
def test_only_rows_may_be_given(given: str, fits: bool) -> None:
    script = Script("a.py", f"loss = m.evaluate({given})\n")
    assert gives_only(script, 1, "evaluate", *_TAKEN) is fits


def test_one_unpacked_argument_is_too_many_where_only_one_is_taken() -> None:
    assert not gives_only(Script("a.py", "m.predict(*rows)\n"), 1, "predict", 1, ("x",))


def test_metrics_are_reset_in_front_of_the_statement() -> None:
    source = "def f(self):\n    a, b = self.m.test_on_batch(x, y)\n    return a\n"
    text = reset_metrics_before(Script("a.py", source), 2, "test_on_batch").text
    assert "    self.m.reset_metrics()\n    a, b = self.m.test_on_batch(x, y)\n" in text


@pytest.mark.parametrize(
    "source",
    [
        "while m.test_on_batch(x, y) > 3: step()\n",
        "all = [m.test_on_batch(x, y) for x, y in data]\n",
        "z = late and m.test_on_batch(x, y)\n",
        "f = lambda: m.test_on_batch(x, y)\n",
        "z = build().test_on_batch(x, y)\n",
    ],
)
def test_a_call_that_runs_more_or_less_often_is_left_alone(source: str) -> None:
    with pytest.raises(CannotEdit):
        reset_metrics_before(Script("a.py", source), 1, "test_on_batch")
