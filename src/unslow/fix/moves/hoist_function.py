"""The move for `function-in-loop`: a tf.function that is made again and again is made once."""

from __future__ import annotations

import ast

from unslow.fix.edit.blocks import above, extent, indent, reindented, removal, statement
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import replaced
from unslow.fix.moves.captured_values import captured
from unslow.fix.moves.hoist import hoist_statement
from unslow.syntax.nodes import (
    NAMED_FUNCTIONS,
    NamedFunction,
    StatementLoop,
    header,
    parameter_names,
)
from unslow.syntax.uses import bound_in, uses

_FUNCTION = "tf.function"


def function_once(script: Script, line: int) -> Script:
    """The tf.function that is made at a line is made in front of its loops, or of the function around it."""
    node = statement(script, line)
    _keeps_nothing(script, node)
    if script.loops_around(node):
        return _before_loop(script, line, node)
    around = script.function_of(node)
    if around is None:
        raise script.refuse("neither a loop nor a function is around it", node)
    return _before_function(script, node, around)


def _keeps_nothing(script: Script, node: ast.stmt) -> None:
    """Raises where the code reads what changes between its calls: made once, it would keep the first value."""
    made = _made(script, node)
    inner = made.args[0] if made is not None and made.args else None
    code: NamedFunction | ast.Lambda | None = node if isinstance(node, NAMED_FUNCTIONS) else None
    if isinstance(inner, ast.Lambda):
        code = inner
    elif isinstance(inner, ast.Name):
        found = [binding.node for binding in script.bindings(inner.id, inner)]
        code = next((each for each in found if isinstance(each, NAMED_FUNCTIONS)), None)
    if code is None:
        return
    body = [ast.Expr(code.body)] if isinstance(code, ast.Lambda) else code.body
    changing = captured(
        script, body, parameter_names(code), None if isinstance(code, ast.Lambda) else code, None
    )
    if changing is not None:
        raise script.refuse(f"{changing.reason}: hand that in as an argument first", changing.node)


def _before_loop(script: Script, line: int, node: ast.stmt) -> Script:
    made = _made(script, node)
    try:
        return hoist_statement(script, line)
    except CannotEdit:
        if made is None or isinstance(node, NAMED_FUNCTIONS):
            raise
    target: StatementLoop | None = None
    for loop in script.loops_around(node):
        if uses([made]).reads & bound_in(loop):
            break
        target = loop
    if target is None:
        raise script.refuse(
            f"it depends on `{min(uses([made]).reads & bound_in(loop))}`, which changes in the loop",
            made,
        )
    name, place = script.fresh(_name(made)), above(script, target)
    row = f"{indent(script, target)}{name} = {script.source(made)}{script.lines.newline}"
    return script.edit([Splice(place, place, row), replaced(script, made, name)])


def _made(script: Script, node: ast.stmt) -> ast.Call | None:
    """The call in a statement that makes the function."""
    for call in header(node):
        if isinstance(call, ast.Call) and script.name(call.func) == _FUNCTION:
            return call
    return None


def _name(made: ast.Call) -> str:
    """A name for a compiled function: after what is compiled."""
    inner = made.args[0] if made.args else None
    path = (
        inner.id
        if isinstance(inner, ast.Name)
        else inner.attr
        if isinstance(inner, ast.Attribute)
        else "function"
    )
    return f"compiled_{path.lstrip('_')}"


def _before_function(script: Script, node: ast.stmt, around: NamedFunction) -> Script:
    """To the module's level, in front of the function that makes it, where it uses none of that function's names."""
    top: ast.stmt = around
    for owner in script.ancestors(around):
        if isinstance(owner, (*NAMED_FUNCTIONS, ast.ClassDef)):
            top = owner
    made = node if isinstance(node, NAMED_FUNCTIONS) else _made(script, node)
    if made is None:
        raise script.refuse("the function is not made on this line", node)
    _stands_alone(script, made, around, top)
    place = above(script, top)
    if isinstance(made, NAMED_FUNCTIONS):
        if made.name in script.taken and _bound_twice(script, made):
            raise script.refuse(f"`{made.name}` is bound elsewhere too", made)
        text = reindented(script, [made], indent(script, top))
        gap = script.lines.newline * 2
        return script.edit([Splice(place, place, text + gap), removal(script, [made])])
    name = script.fresh(_name(made))
    row = f"{indent(script, top)}{name} = {script.source(made)}{script.lines.newline * 3}"
    return script.edit([Splice(place, place, row), replaced(script, made, name)])


def _stands_alone(script: Script, made: ast.AST, around: NamedFunction, top: ast.stmt) -> None:
    """Raises where the function uses names that only exist inside, or not yet where it would stand."""
    reads = uses([made]).reads | (
        uses(made.body).reads if isinstance(made, NAMED_FUNCTIONS) else set()
    )
    inner = uses(around.body).writes | parameter_names(around)
    own = (
        uses(made.body).writes | parameter_names(made)
        if isinstance(made, NAMED_FUNCTIONS)
        else set()
    )
    for name in sorted((reads & inner) - own - {getattr(made, "name", "")}):
        raise script.refuse(
            f"it uses `{name}` of `{around.name}`: hand that in as an argument first", made
        )
    if isinstance(made, ast.Call):
        for inside in ast.walk(made):
            if isinstance(inside, ast.Name) and _bound_late(script, inside, top):
                raise script.refuse(f"`{inside.id}` is only defined further down", made)


def _bound_late(script: Script, name: ast.Name, top: ast.stmt) -> bool:
    found = script.bindings(name.id, name)
    return bool(found) and all(
        getattr(binding.node, "lineno", 0) >= top.lineno for binding in found
    )


def _bound_twice(script: Script, made: NamedFunction) -> bool:
    """Whether the module's level, or another function, binds the name of the function that is to go there."""
    others = [
        node
        for node in ast.walk(script.tree)
        if (
            isinstance(node, (*NAMED_FUNCTIONS, ast.ClassDef))
            and node.name == made.name
            and node is not made
        )
        or (
            isinstance(node, ast.Name)
            and node.id == made.name
            and not isinstance(node.ctx, ast.Load)
        )
    ]
    extent(script, [made])
    return bool(others)
