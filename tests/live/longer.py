"""Makes a short example long enough to be attached to in its middle, line by line the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def longer(text: str, times: int) -> str:
    """The program with its last outermost loop, or else every `epochs=`, repeated `times` times."""
    tree = ast.parse(text)
    counts = _loop_counts(tree) or _epochs(tree)
    rows = text.splitlines(keepends=True)
    for count in sorted(counts, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        row = rows[(count.end_lineno or 0) - 1].encode()
        end = count.end_col_offset or 0
        rows[(count.end_lineno or 0) - 1] = (
            row[:end] + f" * {times}".encode() + row[end:]
        ).decode()
    return "".join(rows)


def _loop_counts(tree: ast.Module) -> list[ast.expr]:
    """How often the last loop at module level runs: the argument of its `range` or `take`."""
    loops = list(_outermost_loops(tree.body))
    if not loops:
        return []
    for call in ast.walk(loops[-1].iter):
        if isinstance(call, ast.Call) and _name(call.func) in ("range", "take") and call.args:
            return [call.args[-1]]
    return []


def _outermost_loops(body: list[ast.stmt]) -> Iterator[ast.For]:
    for statement in body:
        if isinstance(statement, ast.For):
            yield statement
        elif isinstance(statement, ast.With | ast.If | ast.Try):
            yield from _outermost_loops(statement.body)


def _epochs(tree: ast.Module) -> list[ast.expr]:
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "epochs"
    ]


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
