"""Ops of a loop that are something else in each turn stay in it."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.ops_before_loop import ops_once

_HEAD = (
    "import numpy as np\nimport tensorflow.compat.v1 as tf\n"
    "def total(a):\n    return tf.reduce_sum(a)\ndef noisy(a):\n    return a * np.random.rand()\n"
)


def once(body: str, line: int = 8) -> str:
    script = Script("a.py", f"{_HEAD}for step in range(9):\n{body}")
    return ops_once(script, [[("a.py", line, "")]], []).text


@pytest.mark.parametrize(
    ("made", "name"), [("total(x)", "total_op"), ("tf.constant(np.ones(3))", "constant_op")]
)
def test_what_stays_the_same_is_made_in_front_of_the_loop(made: str, name: str) -> None:
    text = once(f"    sess.run({made})\n")
    assert f"{name} = {made}\nfor step" in text and f"sess.run({name})" in text


@pytest.mark.parametrize(
    "made",
    [
        "tf.constant(np.random.rand(3))",
        "tf.constant(rng.normal(size=3))",
        "tf.constant(next(rows))",
        "tf.constant(load())",
        "noisy(x)",
    ],
)
@pytest.mark.parametrize("form", ["    sess.run({})\n", "    made = {}\n    sess.run(made)\n"])
def test_what_gives_another_value_in_each_turn_stays(made: str, form: str) -> None:
    with pytest.raises(CannotEdit, match=r"another value in each turn|more than make ops"):
        once(form.format(made))


def test_an_initializer_of_what_the_loop_makes_stays() -> None:
    run = "    sess.run(tf.global_variables_initializer())\n"
    assert "_op = tf.global_variables_initializer()\nfor step" in once(run)
    with pytest.raises(CannotEdit, match="the loop makes variables"):
        once(f"    w = tf.Variable(step)\n{run}", line=9)
