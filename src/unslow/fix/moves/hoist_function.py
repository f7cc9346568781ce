"""Make a tf.function once, before its loops or before the function around it."""

from __future__ import annotations

import ast

from unslow.fix.edit.blocks import above, indent, put_above, reindented, removal, statement
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import replaced
from unslow.fix.moves.captured_values import captured, reset_objects
from unslow.fix.moves.hoist import hoist_statement
from unslow.fix.moves.python_parts import effect_of_tracing
from unslow.fix.moves.shapes import calls_of, outermost_definition, outermost_loop, stores
from unslow.syntax.nodes import (
    NAMED_FUNCTIONS,
    Function,
    NamedFunction,
    StatementLoop,
    header_calls,
    inside,
    last_name,
    parameter_names,
)
from unslow.syntax.uses import bound_in, uses

_FUNCTION = "tf.function"


def function_once(script: Script, line: int) -> Script:
    """Make the tf.function before its loops, or before the function around it."""
    node = statement(script, line)
    _require_nothing_captured(script, node)
    if script.loops_around(node):
        return _before_loop(script, line, node)
    around = script.function_of(node)
    if around is None:
        raise script.refuse("neither a loop nor a function is around it", node)
    return _before_function(script, node, around)


def _require_nothing_captured(script: Script, node: ast.stmt) -> None:
    """Raises where the code reads what changes between its calls."""
    code = _code_of(script, node)
    if code is None:
        return
    body = [ast.Expr(code.body)] if isinstance(code, ast.Lambda) else code.body
    function = None if isinstance(code, ast.Lambda) else code
    changing = captured(script, body, parameter_names(code), function)
    if changing is not None:
        raise script.refuse(f"{changing.reason}: hand that in as an argument first", changing.node)
    around = script.function_of(node)
    sites = [node, *(script.possible_calls(around) if around is not None else [])]
    loops = [loop for site in sites for loop in script.loops_around(site)]
    frozen = reset_objects(script, body, loops)
    if frozen is not None:
        raise script.refuse(frozen.reason, frozen.node)
    effect = effect_of_tracing(script, body, parameter_names(code))
    if effect is not None:
        raise script.refuse(*effect)


def _code_of(script: Script, node: ast.stmt) -> Function | None:
    """The function that is compiled in a statement, as far as it is in this file."""
    if isinstance(node, NAMED_FUNCTIONS):
        return node
    match _made(script, node):
        case ast.Call(args=[ast.Lambda() as inner, *_]):
            return inner
        case ast.Call(args=[ast.Name() as inner, *_]):
            found = [binding.node for binding in script.bindings(inner.id, inner)]
            return next((each for each in found if isinstance(each, NAMED_FUNCTIONS)), None)
    return None


def _made(script: Script, node: ast.stmt) -> ast.Call | None:
    """The call in a statement that makes the function."""
    return next(iter(calls_of(script, header_calls(node), _FUNCTION)), None)


def _before_loop(script: Script, line: int, node: ast.stmt) -> Script:
    made = _made(script, node)
    try:
        return hoist_statement(script, line)
    except CannotEdit:
        if made is None or isinstance(node, NAMED_FUNCTIONS):
            raise

    def obstacle(loop: StatementLoop) -> CannotEdit | None:
        changing = uses([made]).reads & bound_in(loop)
        reason = f"it depends on `{min(changing, default='')}`, which changes in the loop"
        return script.refuse(reason, made) if changing else None

    target = outermost_loop(script, node, obstacle)
    assert target is not None
    return _kept_before(script, made, target)


def _kept_before(script: Script, made: ast.Call, place: ast.stmt, blank_lines: int = 0) -> Script:
    """Makes a function in front of a statement, under a name that stands in for it."""
    compiled = last_name(made.args[0]) if made.args else ""
    name = script.fresh(f"compiled_{(compiled or 'function').lstrip('_')}")
    row = put_above(script, place, f"{name} = {script.source(made)}", blank_lines=blank_lines)
    return script.edit([row, replaced(script, made, name)])


def _before_function(script: Script, node: ast.stmt, around: NamedFunction) -> Script:
    """Move it to module level, where it uses no name of the function around it."""
    top = outermost_definition(script, around) or around
    made = node if isinstance(node, NAMED_FUNCTIONS) else _made(script, node)
    if made is None:
        raise script.refuse("the function that is compiled is not defined beside this line", node)
    _require_own_names(script, made, around)
    if isinstance(made, ast.Call):
        _require_defined(script, made, top)
        return _kept_before(script, made, top, blank_lines=2)
    if _is_bound_elsewhere(script, made):
        raise script.refuse(f"`{made.name}` is bound elsewhere too", made)
    text = reindented(script, [made], indent(script, top)) + script.lines.newline * 2
    start = above(script, top)
    return script.edit([Splice(start, start, text), removal(script, [made])])


def _require_own_names(
    script: Script, made: NamedFunction | ast.Call, around: NamedFunction
) -> None:
    """Raises where the function uses names that only exist inside the one around it."""
    names = uses([made]).reads & (uses(around.body).writes | parameter_names(around))
    if isinstance(made, NAMED_FUNCTIONS):
        names -= {made.name}
    for name in sorted(names):
        reason = f"it uses `{name}` of `{around.name}`: hand that in as an argument first"
        raise script.refuse(reason, made)


def _require_defined(script: Script, made: ast.Call, top: ast.stmt) -> None:
    """Raises where a name does not exist yet in front of a statement."""
    for name in inside(made, ast.Name):
        found = script.bindings(name.id, name)
        outside = [item.node for item in found if not script.within(item.node, made)]
        lines = [getattr(node, "lineno", 0) for node in outside]
        if lines and min(lines) >= top.lineno:
            raise script.refuse(f"`{name.id}` is only defined further down", made)


def _is_bound_elsewhere(script: Script, made: NamedFunction) -> bool:
    """Whether the module or another function binds the same name."""
    definitions = [*script.functions, *script.every(ast.ClassDef)]
    defined = [node for node in definitions if node.name == made.name and node is not made]
    return bool(defined or stores(script.tree, made.name))
