"""Columns of sampled rows become arrays before they become tensors."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.stack_before_convert import stacked

TEXT = """\
import collections, random
import numpy as np
import tensorflow as tf

Step = collections.namedtuple("Step", "state reward")


{decorator}def sample(rows):
    {bound}
    return {value}


while True:
    learn(sample(rows))
"""
NAMED = "chosen = Step(*zip(*random.sample(rows, 8)))"
APART = "states, rewards = zip(*random.sample(rows, 8))"


def _edited(bound: str, value: str, decorator: str = "") -> str:
    text = TEXT.format(bound=bound, value=value, decorator=decorator)
    line = text.splitlines().index("    learn(sample(rows))") + 1
    return stacked(Script("a.py", text), line).text


@pytest.mark.parametrize(
    ("bound", "value", "column"),
    [
        (NAMED, "tf.convert_to_tensor(chosen.state, tf.float32)", "chosen.state"),
        (APART, "tf.convert_to_tensor(states, dtype=tf.float32)", "states"),
    ],
)
def test_a_column_goes_through_an_array_of_the_wanted_dtype(
    bound: str, value: str, column: str
) -> None:
    made = f"return tf.convert_to_tensor(np.asarray({column}, np.float32))\n"
    assert made in _edited(bound, value)


@pytest.mark.parametrize(
    ("bound", "value", "decorator"),
    [
        (NAMED, "tf.convert_to_tensor(chosen.state)", ""),  # another dtype for Python's numbers
        (NAMED, "tf.constant(rows, tf.float32)", ""),
        ("states = rows[0]", "tf.constant(states, tf.float32)", ""),
        (NAMED, "tf.constant(chosen.state, tf.string)", ""),
        (NAMED, "tf.constant(chosen.state, tf.float32)", "@tf.function\n"),
    ],
)
def test_other_conversions_are_left(bound: str, value: str, decorator: str) -> None:
    with pytest.raises(CannotEdit, match="converts no columns"):
        _edited(bound, value, decorator)
