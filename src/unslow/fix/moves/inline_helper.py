"""The move for a helper that resets something among other things: one of its callers does the other
things itself."""

from __future__ import annotations

import ast

from unslow.fix.edit.blocks import in_place, indent, statement
from unslow.fix.edit.script import Script
from unslow.fix.moves.shapes import is_text
from unslow.syntax.nodes import NamedFunction, inside, parameter_names

_PLAIN = (ast.Expr, ast.Assign)
_PURE = (ast.Name, ast.Attribute, ast.BinOp, ast.Constant, ast.operator, ast.expr_context)


def without_reset(script: Script, reset_line: int, call_line: int) -> Script:
    """At `call_line`, the statements of the helper called there stand in its place, but for the one
    at `reset_line`; other callers keep the helper."""
    site, reset = statement(script, call_line), statement(script, reset_line)
    match site:
        case ast.Expr(value=ast.Call() as call):
            helper = script.own_function(call)
        case _:
            raise script.refuse("the call is part of a larger statement", site)
    if helper is None or reset not in helper.body:
        raise script.refuse("the loop around it is in another file", reset)
    others = [other for other in script.possible_calls(helper) if other is not call]
    script.refuse_if(
        not others, f"`{helper.name}` is called nowhere else: nothing would be set once", site
    )
    given = _given(script, helper, call)
    rest = [node for node in helper.body if node is not reset and not is_text(node)]
    script.refuse_if(not rest, "the helper does nothing else", site)
    margin, newline = indent(script, site), script.lines.newline
    rows = [f"{margin}{_written(script, node, given)}{newline}" for node in rest]
    return script.edit([in_place(script, [site], "".join(rows))])


def _given(script: Script, helper: NamedFunction, call: ast.Call) -> dict[str, str]:
    """What each parameter stands for at the call; only what may be computed several times."""
    found = {}
    for name, value in script.arguments_of(helper, call):
        if not all(isinstance(part, _PURE) for part in ast.walk(value)):
            raise script.refuse("what the helper is given may not be computed twice", value)
        text = script.source(value)
        found[name] = f"({text})" if isinstance(value, ast.BinOp) else text
    if set(found) != parameter_names(helper):
        raise script.refuse("the helper is not given all of its parameters", call)
    return found


def _written(script: Script, node: ast.stmt, given: dict[str, str]) -> str:
    """A statement of the helper in the caller's names."""
    targets = getattr(node, "targets", [])
    local = any(isinstance(target, ast.Name) for target in targets)
    if not isinstance(node, _PLAIN) or local or node.lineno != node.end_lineno:
        raise script.refuse("the helper does more than call others", node)
    start, _ = script.span(node)
    text = script.source(node)
    names = [each for each in inside(node, ast.Name) if each.id in given]
    for name in sorted(names, key=lambda each: script.span(each)[0], reverse=True):
        first, last = script.span(name)
        value = given[name.id]
        parent = script.parents[name]
        is_alone = isinstance(parent, ast.Call) and parent.func is not name
        value = value[1:-1] if is_alone and value.startswith("(") else value
        text = text[: first - start] + value + text[last - start :]
    return text
