"""The move that does once, in front of a loop, what each iteration does anew: setting a seed,
clearing a session."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import delete, insert_before
from unslow.fix.moves.captured_values import called_in_loop
from unslow.fix.moves.hoist import dependence, hoist_statement
from unslow.fix.moves.inline_helper import without_reset
from unslow.syntax.nodes import StatementLoop


def once_before_loop(script: Script, lines: Sequence[int]) -> Script:
    """Takes a call out of its loop; the lines are its own and its callers', the first that is in a
    loop counts."""
    for line in lines:
        node = script.statement_at(line)
        if node is None or not script.loops_around(node):
            continue
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
            raise script.refuse("what is reset there is also used", node)
        try:
            return hoist_statement(script, line)
        except CannotEdit:
            return _replaced(script, node, node.value)
    site = _repeated_call(script, lines[0]) if lines else None
    if site is None:
        raise CannotEdit("the loop around it is in another file", lines[0] if lines else None)
    return without_reset(script, lines[0], script.recorded(site))


def _repeated_call(script: Script, line: int) -> ast.Call | None:
    """The one call of the function around a line that a loop comes by; others must set things
    once."""
    helper = script.function_at(line)
    sites = script.possible_calls(helper) if helper is not None else []
    repeated = [site for site in sites if _is_repeated(script, site)]
    return repeated[0] if len(repeated) == 1 and len(sites) > 1 else None


def _is_repeated(script: Script, site: ast.Call) -> bool:
    around = script.function_of(site)
    return bool(script.loops_around(site)) or (
        around is not None and called_in_loop(script, around)
    )


def _replaced(script: Script, node: ast.stmt, call: ast.Call) -> Script:
    """Delete the statement, with an `if` around it alone, and put it before the outer loop."""
    loops = script.loops_around(node)
    loop = loops[-1]
    text = _independent(script, call, loop) if not _made_before(script, call, loop) else None
    line, header = script.recorded(_with_its_if(script, node)), script.recorded(loop)
    edited = delete(script, line)
    return edited if text is None else insert_before(edited, header, text)


def _with_its_if(script: Script, node: ast.stmt) -> ast.stmt:
    """The outermost `if` that holds a statement and nothing else."""
    match script.parents[node]:
        case ast.If(body=[_], orelse=[]) as around:
            return _with_its_if(script, around)
    return node


def _made_before(script: Script, call: ast.Call, loop: StatementLoop) -> bool:
    """Whether the same thing is called in front of the loop already."""
    before = [other for other in script.every(ast.Call) if other.lineno < loop.lineno]
    return ast.dump(call.func) in {ast.dump(other.func) for other in before}


def _independent(script: Script, call: ast.Call, loop: StatementLoop) -> str:
    """The call as made before the loop: a seed that changes with the iterations starts at 0."""
    if dependence(script, loop, [call]) is None:
        return ast.unparse(call)
    if len(call.args) != 1 or call.keywords:
        raise script.refuse("what it is given changes in the loop", call)
    return f"{ast.unparse(call.func)}(0)"
