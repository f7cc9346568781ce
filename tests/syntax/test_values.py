"""How often a loop in a source file runs."""

from __future__ import annotations

import ast

import pytest

from unslow.syntax import Source


@pytest.mark.parametrize(
    ("loop", "turns"),
    [
        ("for x in [1, 2, 3]:", 3),
        ("for x in range(40):", 40),
        ("for x in range(NUMBER):", 7),
        ("for x in range(10, 40, 10):", 3),
        ("for x in range(5, 1):", 0),
        ("for x in range(unknown):", None),
        ("for x in data:", None),
        ("while True:", None),
    ],
)
def test_the_turns_of_a_loop(loop: str, turns: int | None) -> None:
    source = Source("train.py", f"NUMBER = 7\n{loop}\n    pass\n")
    node = next(node for node in ast.walk(source.tree) if isinstance(node, ast.For | ast.While))
    assert source.turns_of(node) == turns
