"""Which lines of a source file exclude each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence


def exclude_each_other(text: str, one: int, other: int) -> bool:
    """Whether two lines are in different branches of one `if`: a turn of a loop runs one of them.

    False where the text cannot be parsed.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(
        (_holds(taken, one) and _holds(otherwise, other))
        or (_holds(taken, other) and _holds(otherwise, one))
        for taken, otherwise in _branches(tree)
    )


def _branches(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], list[ast.stmt]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and node.orelse:
            yield node.body, node.orelse


def _holds(body: Sequence[ast.stmt], line: int) -> bool:
    return body[0].lineno <= line <= (body[-1].end_lineno or body[-1].lineno)
