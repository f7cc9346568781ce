"""Run a statement less often: a new guard, or a larger number in the one it has."""

from __future__ import annotations

import ast

from unslow.fix.edit.blocks import siblings
from unslow.fix.edit.script import Script
from unslow.fix.moves.run_every_n import guard
from unslow.syntax.literals import Literal
from unslow.syntax.nodes import DEFINITIONS, inside


def rarer(script: Script, line: int, times: int, last: int | None = None) -> Script:
    """Lets the statement at a line (or those from it to another) run N times more rarely than now.

    An interval that has a name is changed where its number is written.
    """
    if times <= 1:
        return script
    part = siblings(script, line, last or line)
    found = _period(script, part[0])
    if found is None:
        return guard(script, line, times, last)

    def longer(literal: Literal[Script]) -> str:
        if not isinstance(literal.value, int):
            what = literal.source.source(literal.node)
            raise script.refuse(f"it runs every `{what}` steps, which is no whole number", found)
        return str(literal.value * times)

    return script.with_value(found.right, longer)


def _period(script: Script, node: ast.stmt) -> ast.BinOp | None:
    """The `… % n` of the nearest `if` around a statement, within its loop or function."""
    child: ast.AST = node
    for parent in script.ancestors(node):
        if isinstance(parent, (*DEFINITIONS, ast.For, ast.While)):
            return None
        if isinstance(parent, ast.If) and child in parent.body:
            rests = [part for part in inside(parent.test, ast.BinOp) if _is_rest(part)]
            if rests:
                return rests[0]
        child = parent
    return None


def _is_rest(node: ast.BinOp) -> bool:
    """Whether it is a division's rest, not the formatting of a string."""
    is_text = isinstance(node.left, ast.Constant | ast.JoinedStr)
    return isinstance(node.op, ast.Mod) and not is_text
