"""A list that an unrolled loop fills becomes a tf.TensorArray of a loop of the graph."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.graph_loop import range_to_graph

_HEAD = "import tensorflow as tf\n@tf.function\ndef f(x, n):\n    h = tf.zeros([3])\n    out = []\n"


def rolled(rest: str) -> str:
    return range_to_graph(Script("a.py", _HEAD + rest), 6).text


def test_collected_tensors_are_written_into_an_array() -> None:
    text = rolled(
        "    for t in range(n):\n        h = tf.tanh(h)\n        out.append(h * 2)\n    return tf.stack(out)\n"
    )
    assert "    out = tf.TensorArray(h.dtype, n)\n    for t in tf.range(n):\n" in text
    assert "        out = out.write(t, h * 2)\n    return out.stack()\n" in text


def test_the_type_is_followed_through_names_of_the_loop() -> None:
    text = rolled(
        "    for t in range(9):\n        h = h + 1.0\n        y = h @ w\n        out.append(y)\n    return tf.stack(out)\n"
    )
    assert "tf.TensorArray(h.dtype, 9)" in text


@pytest.mark.parametrize(
    ("use", "instead"),
    [
        ("tf.stack(out, axis=0)", "out.stack()"),
        ("tf.stack(out, 1)", "tf.experimental.numpy.moveaxis(out.stack(), 0, 1)"),
        ("tf.stack(out, axis=-1)", "tf.experimental.numpy.moveaxis(out.stack(), 0, -1)"),
        ("tf.concat(out, 0)", "out.concat()"),
        ("tf.convert_to_tensor(out)", "out.stack()"),
    ],
)
def test_an_array_gives_what_is_made_of_the_list(use: str, instead: str) -> None:
    body = "    for t in range(n):\n        h = tf.tanh(h)\n        out.append(h)\n"
    assert rolled(f"{body}    return {use}\n").endswith(f"    return {instead}\n")


def test_a_number_before_the_loop_has_no_type_to_take() -> None:
    text = _HEAD.replace("tf.zeros([3])", "0.0")
    body = "    for t in range(n):\n        h += tf.reduce_sum(x)\n        out.append(h)\n"
    with pytest.raises(CannotEdit, match="fills a Python container"):
        range_to_graph(Script("a.py", f"{text}{body}    return tf.stack(out)\n"), 6)


@pytest.mark.parametrize(
    "rest",
    [
        "    for t in range(n):\n        h = g(h)\n        out.append(h)\n    return out\n",
        "    for t in range(n):\n        h = g(h)\n        out.append(h)\n    return tf.stack(out, axis=n)\n",
        "    for t in range(n):\n        h = g(h)\n        out.append(h)\n    return tf.concat(out, axis=1)\n",
        "    for t in range(n):\n        h = g(h)\n        out.append(tf.argmax(h))\n    return tf.stack(out)\n",
        "    for t in range(1, n):\n        h = g(h)\n        out.append(h)\n    return tf.stack(out)\n",
        "    for t in range(n):\n        h = g(h)\n        out.insert(0, h)\n    return tf.stack(out)\n",
        "    for t in range(n):\n        h = g(h)\n        out.append(h)\n    return tf.stack(out) + len(out)\n",
    ],
    ids=[
        "the list itself",
        "an axis that is not written",
        "joined along another axis",
        "another type",
        "from one on",
        "insert",
        "its length",
    ],
)
def test_lists_that_are_more_than_stacked_stay_python(rest: str) -> None:
    with pytest.raises(CannotEdit, match="fills a Python container"):
        rolled(rest)


def test_the_type_may_be_that_of_what_the_function_is_given() -> None:
    body = "    for t in range(9):\n        s = tf.tanh(x[:, t] + s)\n        out.append(s)\n"
    head = "import tensorflow as tf\n@tf.function\ndef f(x, s):\n    out = []\n"
    text = f"{head}{body}    return tf.stack(out)\n"
    assert "tf.TensorArray(s.dtype, 9)" in range_to_graph(Script("a.py", text), 5).text
