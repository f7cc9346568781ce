"""A tensor that a Python loop takes apart is fetched once."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.fetch_once import fetch_once

_HEAD = "import tensorflow as tf\nvalues = tf.sqrt(rows)\n"


def fetched(body: str, line: int) -> str:
    return fetch_once(Script("a.py", _HEAD + body), line).text


def test_indexed_elements_come_from_one_array() -> None:
    text = fetched("for k in range(9):\n    out.append(float(values[k]))\n", 4)
    assert "values_values = values.numpy()\nfor k in" in text
    assert "out.append(float(values_values[k]))" in text


def test_an_element_needs_no_fetch_of_its_own() -> None:
    text = fetched("for k in range(9):\n    out[k] = values[k].numpy()\n", 4)
    assert "out[k] = values_values[k]\n" in text


def test_a_tensor_that_is_iterated_over_is_fetched_too() -> None:
    text = fetched("for v, y in zip(values, ys):\n    if v > 1:\n        n += 1\n", 4)
    assert "for v, y in zip(values_values, ys):" in text


def test_an_outer_loop_is_where_it_is_fetched() -> None:
    text = fetched("for i in a:\n    for k in b:\n        f += float(values[i, k])\n", 5)
    assert "values_values = values.numpy()\nfor i in a:" in text


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("for k in range(9):\n    keep(values[k])\n", "may have to be a tensor"),
        ("for k in range(9):\n    f(float(values[k]), values)\n", "as a whole"),
        ("for k in range(9):\n    values = g()\n    f(float(values[k]))\n", "no tensor"),
    ],
)
def test_a_loop_that_may_need_tensors_is_left_alone(body: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        fetched(body, 4)
