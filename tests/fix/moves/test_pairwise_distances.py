"""Distances of all pairs are a matrix product instead of a tensor of all differences."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.pairwise_distances import pairwise_distances

_HEAD = "import tensorflow as tf\ndef far(a, b):\n"
_PRODUCT = (
    "    row_squares = tf.reduce_sum(tf.square(a), axis=-1)[:, tf.newaxis]\n"
    "    column_squares = tf.reduce_sum(tf.square(b), axis=-1)\n"
    "    products = tf.matmul(a, b, transpose_b=True)\n"
)
_SUM = "tf.maximum(row_squares + column_squares - 2.0 * products, 0.0)"


def near(body: str) -> str:
    rows = "".join(f"    {row}\n" for row in body.splitlines())
    text = pairwise_distances(Script("a.py", _HEAD + rows), 3).text
    assert text.startswith(_HEAD + _PRODUCT)
    return text.removeprefix(_HEAD + _PRODUCT)


@pytest.mark.parametrize(
    "pairs",
    [
        "tf.reduce_sum(tf.square(a[:, None] - b[None]), axis=-1)",
        "tf.reduce_sum((a[:, tf.newaxis, :] - b[tf.newaxis, :, :]) ** 2, 2)",
        "tf.reduce_sum(tf.square(tf.expand_dims(a, 1) - tf.expand_dims(b, axis=0)), axis=-1)",
        "tf.reduce_sum(tf.math.squared_difference(a[:, None], b), axis=-1)",
        "tf.reduce_sum(tf.square(b[None] - a[:, None]), axis=-1)",
    ],
)
def test_squared_differences_of_all_pairs(pairs: str) -> None:
    assert near(f"return {pairs}") == f"    return {_SUM}\n"


def test_a_norm_of_differences() -> None:
    text = near("return tf.norm(a[:, None] - b, axis=-1)")
    assert text == f"    return tf.sqrt({_SUM})\n"


def test_differences_under_names_of_their_own_go() -> None:
    body = (
        "gaps = a[:, None] - b\nsquares = tf.square(gaps)\nd = tf.reduce_sum(squares, -1)\nuse(d)"
    )
    assert near(body) == f"    d = {_SUM}\n    use(d)\n"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return tf.reduce_sum(tf.abs(a[:, None] - b), axis=-1)", "no difference that is squared"),
        ("return tf.reduce_sum(tf.square(a[:, None] - b), axis=1)", "no difference"),
        ("return tf.reduce_sum(tf.square(a[:, None] - b), axis=-1, keepdims=True)", "no diff"),
        ("return tf.reduce_sum(tf.square(a[None] - b), axis=-1)", "no difference"),
        ("return tf.reduce_sum(tf.square(f(a)[:, None] - b), axis=-1)", "have no names"),
        ("g = a[:, None] - b\nkeep(g)\nreturn tf.reduce_sum(tf.square(g), -1)", "no difference"),
        ("return [tf.norm(a[:, None] - b, axis=-1) for b in c]", "in a larger expression"),
    ],
)
def test_other_reductions_stay(body: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        near(body)
