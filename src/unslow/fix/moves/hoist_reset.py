"""The move that does once, in front of a loop, what each iteration does anew: setting a seed,
clearing a session."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unslow.facts.schema import Stack
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import delete, insert_before
from unslow.fix.moves.hoist import dependence, hoist_statement
from unslow.fix.moves.shapes import is_text
from unslow.syntax.literals import program_calls
from unslow.syntax.nodes import NamedFunction, StatementLoop, last_name, words

_RESETS = words("seed set_seed set_random_seed clear_session collect")


def reset_sites(script: Script, stack: Stack) -> Iterator[tuple[Script, ast.stmt]]:
    """The statements that come by a reset, in their files, as far out as they do nothing else.

    The stack is that of the first reset: the other calls of what only resets follow after it.
    """
    others: list[tuple[Script, ast.stmt]] = []
    for place in stack:
        owner = script.of(place.file)
        node = owner.statement_at(place.line)
        if node is None:
            break
        yield owner, node
        around = owner.function_of(node)
        if around is None or not _only_resets(owner, around):
            break
        for site in program_calls(owner, around):
            others.append((site.source, site.source.statement_of(site.node)))
    yield from others


def _only_resets(script: Script, function: NamedFunction) -> bool:
    """Whether a helper does nothing but reset things, so that it can move as a whole."""
    return all(is_text(node) or _is_reset(script, node) for node in function.body)


def _is_reset(script: Script, node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=function)):
            return last_name(function) in _RESETS
        case ast.Assign(targets=[ast.Subscript(value=holder)]):
            return script.name(holder) == "os.environ"
    return False


def once_before_loop(script: Script, stack: Stack) -> Script:
    """Takes a call out of its loop, be it that of a helper which resets things, in any file."""
    found = [each for each in reset_sites(script, stack) if each[0].loops_around(each[1])]
    for owner, node in found[:1]:
        places = {(each.path, other.lineno) for each, other in found}
        owner.refuse_if(len(places) > 1, "several loops come by it", node)
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
            raise owner.refuse("what is reset there is also used", node)
        try:
            edited = hoist_statement(owner, owner.recorded(node))
        except CannotEdit:
            edited = _replaced(owner, node, node.value)
        return script.along(edited, owner)
    raise CannotEdit("what the loop calls does more than reset it", stack[0].line)


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
