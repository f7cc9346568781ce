"""Lists of tensors that a compiled step may take apart while it is traced."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.compile_step import compile_step

_STEP = (
    "import argparse\nimport tensorflow as tf\nargs = argparse.ArgumentParser()\n"
    "args.add_argument('--turns', type=int, default=3)\na = args.parse_args()\n"
    "def make():\n    return tf.constant(1.0), tf.constant(2.0)\n"
    "def step(opt, w, tasks, turns):\n    with tf.GradientTape() as tape:\n        losses = []\n"
    "        for x, y in tasks:\n            for _ in range(turns):\n                losses.append(w * x - y)\n"
    "        loss = tf.add_n(losses)\n    opt.apply_gradients([(tape.gradient(loss, w), w)])\n    return loss\n"
    "opt = tf.keras.optimizers.Adam()\nw = tf.Variable(1.0)\n"
)
_LOOP = "for i in range(9):\n    tasks = {tasks}\n    step(opt, w, tasks, a.turns)\n"


def compiled(tasks: str) -> str:
    return compile_step(Script("a.py", _STEP + _LOOP.format(tasks=tasks)), 15).text


def test_a_list_of_as_many_tensors_in_each_step_is_unrolled() -> None:
    assert "@tf.function\ndef step(" in compiled("[make() for _ in range(5)]")


@pytest.mark.parametrize(
    "tasks",
    [
        "[make() for _ in range(i)]",
        "[make() for _ in range(5) if draw()]",
        "[load() for _ in range(5)]",
    ],
    ids=["another length", "some of them", "of unknown values"],
)
def test_other_lists_are_refused(tasks: str) -> None:
    with pytest.raises(CannotEdit, match="loops over `tasks`"):
        compiled(tasks)


_DRAWN = (
    "import numpy as np\nimport tensorflow as tf\ndef draw():\n"
    "    x = np.ones(3)\n    return x, np.cos(x).astype(np.float32)\n"
    "def tasks(count):\n    first, second = [], []\n    for _ in range(count):\n"
    "        first.append(draw())\n        second.append(draw())\n    return first, second\n"
    "def step(one, other):\n    with tf.GradientTape() as tape:\n"
    "        loss = tf.add_n([w * x - y for (x, _), (_, y) in zip(one, other)])\n"
    "    opt.apply_gradients([(tape.gradient(loss, w), w)])\n"
    "for i in range(9):\n    step(*tasks(4))\n"
)


def test_lists_of_arrays_that_another_function_fills_are_unrolled() -> None:
    text = compile_step(Script("a.py", _DRAWN), 15).text
    assert "@tf.function\ndef step(" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tasks(4)", "tasks(i)"),
        ("        second.append", "        if x:\n            second.append"),
        ("return first, second", "return load()"),
        ("second.append(draw())", "second.append(load())"),
        ("    return first", "    second.append(draw())\n    return first"),
    ],
    ids=["another length", "some of them", "unknown", "of unknown values", "filled twice"],
)
def test_lists_that_may_differ_are_refused(old: str, new: str) -> None:
    text = _DRAWN.replace(old, new)
    update = text[: text.index("    opt.apply")].count("\n") + 1
    with pytest.raises(CannotEdit, match="loops over"):
        compile_step(Script("a.py", text), update)
