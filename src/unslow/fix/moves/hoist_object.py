"""Make an object that each turn of a loop resets once, before the loop."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.script import Script
from unslow.fix.moves.call_invariance import own_name
from unslow.fix.moves.hoist import hoist_statement
from unslow.fix.moves.shapes import mentions, method_named
from unslow.syntax.nodes import NAMED_FUNCTIONS, StatementLoop, inside, method_of
from unslow.syntax.uses import changed

_SETS_WEIGHTS = ("set_weights", "load_weights")


def object_once(script: Script, lines: Sequence[int]) -> Script:
    """Hoist `thing = Thing(…)` where `thing.reset(…)`, which sets its weights, follows at once.

    `lines` lead to what is made, innermost first.
    """
    for line in lines:
        node = script.statement_at(line)
        loops = script.loops_around(node) if node is not None else []
        if node is not None and loops:
            _require_reset(script, node, loops[0])
            return hoist_statement(script, line)
    raise script.refuse("the loop around it is in another file", lines[0] if lines else None)


def _require_reset(script: Script, node: ast.stmt, loop: StatementLoop) -> None:
    """Raises where an object that was used before may differ from a new one after its reset."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as made):
            found = script.callee(made)
        case _:
            raise script.refuse("the object is not kept under one name", node)
    if found is None or found.source is not script or not isinstance(found.node, ast.ClassDef):
        raise script.refuse("what is made is no object of a class in this file", node)
    owner, block, index = found.node, *script.block(node)
    following = block[index + 1] if index + 1 < len(block) else None
    match following:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=used), attr=reset))):
            method = method_named(owner, reset) if used == name else None
        case _:
            method = None
    calls = inside(method, ast.Call) if method is not None else ()
    is_reset = any(method_of(call) in _SETS_WEIGHTS for call in calls)
    script.refuse_if(not is_reset, f"nothing sets the weights of `{name}` right after it", node)
    _require_no_other_state(script, owner)
    for mention in mentions(loop.body, name):
        is_kept = mention is not node.targets[0] and not _is_called(script, mention)
        script.refuse_if(
            is_kept, f"`{name}`, or a part of it, may be kept beyond the turn", mention
        )


def _require_no_other_state(script: Script, owner: ast.ClassDef) -> None:
    for method in owner.body:
        if not isinstance(method, NAMED_FUNCTIONS) or method.name == "__init__":
            continue
        own = own_name(script, method)
        kept = {path for path in changed(method.body) if path.partition(".")[0] == own}
        reason = f"`{min(kept, default='')}` is changed by `{method.name}`, and not set again"
        script.refuse_if(kept, reason, method)


def _is_called(script: Script, mention: ast.Name) -> bool:
    """Whether a name leads to a call of what it holds: `thing.net.get_weights()`."""
    node: ast.AST = mention
    while isinstance(script.parents[node], ast.Attribute):
        node = script.parents[node]
    match script.parents[node]:
        case ast.Call(func=function):
            return function is node and node is not mention
    return False
