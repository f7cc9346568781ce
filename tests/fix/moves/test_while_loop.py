"""A loop that AutoGraph may not see becomes a function that tf.while_loop runs."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.graph_loop import loop_function, loops_to_graph, range_to_graph

_LAYER = """\
import keras
import tensorflow as tf


class Gate(keras.layers.Layer):
    def call(self, x):
        h = tf.zeros_like(x[:, 0])
        states = []
        for t in range(x.shape[1]):  # of the day
            # one reading
            h = self.advance(h, x[:, t])
            states.append(h)
        if self.sequences:
            return tf.stack(states, axis=1)
        return h
"""


def test_the_loop_of_a_layer_is_run_by_tensorflow() -> None:
    assert range_to_graph(Script("a.py", _LAYER), 9).text.endswith("""\
        h = tf.zeros_like(x[:, 0])
        states = tf.TensorArray(h.dtype, x.shape[1])

        def loop_body(t, h, states):  # of the day
            # one reading
            h = self.advance(h, x[:, t])
            states = states.write(t, h)
            return t + 1, h, states

        _, h, states = tf.while_loop(
            lambda *_: True,
            loop_body,
            (0, h, states),
            maximum_iterations=x.shape[1],
        )
        if self.sequences:
            return tf.experimental.numpy.moveaxis(states.stack(), 0, 1)
        return h
""")


def test_a_loop_that_was_edited_is_left_as_it_is() -> None:
    once = range_to_graph(Script("a.py", _LAYER), 9)
    assert range_to_graph(once, 9) == once


_CALLED = """\
import tensorflow as tf
def roll(x, s):
    for t in range(9):
        s = cell(x[:, t], s)
    return s


@tf.function{options}
def step(x):
    return {use}
"""


@pytest.mark.parametrize(
    ("options", "use"),
    [("(autograph=False)", "roll(x, x)"), ("", "fold(roll, x)"), ("", "x\n\n\nroll(x, x)")],
)
def test_a_loop_that_autograph_may_not_see_needs_no_autograph(options: str, use: str) -> None:
    script = Script("a.py", _CALLED.format(options=options, use=use))
    assert loop_function(script, 3) == "tf.while_loop"
    assert "_, s = tf.while_loop(" in range_to_graph(script, 3).text


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("x[:, t])", "x[:, t] if t > 0 else x[:, 0])", "condition"),
        ("        return h", "        return h, t", "`t` has no value before the loop"),
        ("        return h", "        return h, g", "`g` has no value before the loop"),
        (
            "            h = self",
            "            self.add_loss(h)\n            h = self",
            "its effect",
        ),
        (
            "            h = self",
            "            h = super().advance(h)\n            h = self",
            "super",
        ),
        ("        h = tf", "        global h\n        h = tf", "outer scope"),
    ],
)
def test_a_body_that_cannot_be_a_function_is_refused(old: str, new: str, reason: str) -> None:
    text = _LAYER.replace("            states", "            g = h * 2\n            states")
    with pytest.raises(CannotEdit, match=reason):
        range_to_graph(Script("a.py", text.replace(old, new, 1)), 9 + ("global" in new))


def test_a_loop_that_begins_later_is_refused() -> None:
    text = _CALLED.format(options="(autograph=False)", use="roll(x, x)")
    with pytest.raises(CannotEdit, match="does not count from 0"):
        range_to_graph(Script("a.py", text.replace("range(9)", "range(1, 9)")), 3)


def test_a_value_that_only_a_later_block_reads_is_carried() -> None:
    text = """\
import tensorflow as tf
def call(x, deep):
    h = y = x[:, 0]
    if deep:
        for t in range(9):
            h = tf.tanh(h)
            y = h * x[:, t]
    return y
"""
    assert "_, h, y = tf.while_loop(" in range_to_graph(Script("a.py", text), 5).text


_TWO = """\
import tensorflow as tf
noise = tf.random.Generator.from_seed(1)


@tf.function
def roll(x, eps):
    h = tf.zeros_like(x[:, 0])
    for t in range({first}):
        h = cell(x[:, t], h)
    for t in range(past):
        h = cell(eps[t], h)
    return h


roll(data, noise.normal((96, 3)))
"""


def test_a_neighbour_that_may_be_as_long_is_done_as_well() -> None:
    text = _TWO.format(first="past")
    assert loops_to_graph(Script("a.py", text), 10).text == text.replace("in range", "in tf.range")


def test_a_short_neighbour_stays_python() -> None:
    text = _TWO.format(first=4)
    edited = text.replace("in range(past)", "in tf.range(past)")
    assert loops_to_graph(Script("a.py", text), 10).text == edited


def test_what_is_no_tensor_is_not_indexed_by_one() -> None:
    with pytest.raises(CannotEdit, match="Python number"):
        loops_to_graph(Script("a.py", _TWO.format(first=4).replace("noise.normal", "draw")), 10)
