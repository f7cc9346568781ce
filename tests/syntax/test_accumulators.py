"""Which accumulators a statement adds to or sets to zero."""

from __future__ import annotations

import ast

import pytest

from unslow.syntax import Source
from unslow.syntax.accumulators import added_to, zeroed_by

IMPORT = "import tensorflow as tf\n"


def last(text: str) -> tuple[Source, ast.AST]:
    """A file, and its last simple statement, or the call in it."""
    source = Source("train.py", IMPORT + text)
    node: ast.stmt = source.tree.body[-1]
    while isinstance(node, ast.For):
        node = node.body[-1]
    return source, node.value if isinstance(node, ast.Expr) else node


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("total += grads", {"total"}),
        ("total[i] += grads", {"total"}),
        ("total = [a + b for a, b in zip(total, grads)]", {"total"}),
        ("total = [a + b for a, b in zip(old, grads)]", set()),
        ("self.total.assign_add(grads)", {"self.total"}),
        ("for t, g in zip(total, grads):\n    t.assign_add(g)", {"t", "zip", "total", "grads"}),
        ("total -= grads", set()),
    ],
)
def test_what_is_added_to(text: str, keys: set[str]) -> None:
    assert added_to(*last(text)) == keys


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("total = 0.0", {"total"}),
        ("total = [tf.zeros_like(w) for w in weights]", {"total"}),
        ("total = tf.nest.map_structure(tf.zeros_like, weights)", {"total"}),
        ("total = [0] * 3", {"total"}),
        ("total.assign(tf.zeros([3]))", {"total"}),
        ("total = []", set()),
        ("total = False", set()),
        ("total.assign(grads)", set()),
    ],
)
def test_what_is_set_to_zero(text: str, keys: set[str]) -> None:
    assert zeroed_by(*last(text)) == keys
