"""Run a statement less often: a new guard, or a larger number in the one it has."""

from __future__ import annotations

import ast
from collections.abc import Callable

from unslow.fix.edit.blocks import siblings
from unslow.fix.edit.script import Script
from unslow.fix.moves.run_every_n import guard
from unslow.syntax.literals import Literal
from unslow.syntax.nodes import DEFINITIONS, NamedFunction, inside, of_type


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

    return _lengthened(script, found, lambda interval: interval * times)


def function_rarer(script: Script, function: NamedFunction, every: int) -> Script | None:
    """Lengthens the interval at which a function does its work; None where it has none.

    The new interval is a multiple of the old one, about as long as `every`.
    """
    tests = [node.test for node in of_type(function.body, ast.If)]
    rests = [part for part in inside(tests, ast.BinOp) if _is_rest(part)]
    if not rests:
        return None
    script.refuse_if(len(rests) > 1, f"`{function.name}` has more than one interval", function)
    return _lengthened(script, rests[0], lambda interval: interval * max(2, every // interval))


def _lengthened(script: Script, rest: ast.BinOp, change: Callable[[int], int]) -> Script:
    def longer(literal: Literal[Script]) -> str:
        if not isinstance(literal.value, int) or literal.value < 1:
            what = literal.source.source(literal.node)
            raise script.refuse(f"it runs every `{what}` steps, which is no whole number", rest)
        return str(change(literal.value))

    return script.with_value(rest.right, longer)


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
