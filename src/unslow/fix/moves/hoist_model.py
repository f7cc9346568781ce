"""Make a model once, before a loop, and start each turn from its first weights."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import insert_before
from unslow.fix.moves.compile_once import compile_first_time, compiled_in_helper
from unslow.fix.moves.hoist import dependence, hoist_statement
from unslow.fix.moves.shapes import only
from unslow.syntax.nodes import StatementLoop, argument, dotted, given_values


def model_once(script: Script, lines: Sequence[int]) -> Script:
    """Hoist `model = …` and `model.compile(…)`; lines are innermost first."""
    helped = compiled_in_helper(script, lines[0]) if lines else None
    if helped is not None:
        return compile_first_time(script, helped)
    node, loop = _in_loop(script, lines)
    if isinstance(node, ast.Expr) and _is_compile(node, None):
        try:
            return hoist_statement(script, script.recorded(node))
        except CannotEdit as problem:
            return _compiled_once(script, node, loop, problem)
    target = only(node.targets) if isinstance(node, ast.Assign) else None
    name = script.needed(dotted(target), "the model is not kept under one name", node)
    header, first = script.recorded(loop), script.recorded(node)
    compiles = [script.recorded(other) for other in loop.body if _is_compile(other, name)]
    edited = hoist_statement(script, first)
    for line in compiles:
        edited = hoist_statement(edited, line)
    edited = insert_before(edited, header, _saved(name, script))
    body = _loop_at(edited, header).body[0]
    return insert_before(edited, edited.recorded(body), _restored(name, script))


def _compiled_once(
    script: Script, node: ast.Expr, loop: StatementLoop, problem: CannotEdit
) -> Script:
    """Compiles before the loop where only the learning rate changes, which each turn then sets."""
    call = node.value
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    optimizer = argument(call, "optimizer", 0)
    if not isinstance(optimizer, ast.Call):
        raise problem
    rate = argument(optimizer, "learning_rate", 0)
    rest = [part for part in given_values(call) if part is not optimizer]
    rest += [part for part in given_values(optimizer) if part is not rate]
    is_keras = script.name(optimizer.func).startswith("keras.optimizers.")
    changing = dependence(script, loop, [call.func.value, *rest])
    if rate is None or not is_keras or changing is not None:
        raise problem
    model = script.source(call.func.value)
    start, end = script.span(rate)
    given = next((word for word in optimizer.keywords if word.value is rate), None)
    if given is not None:
        start, end = script.span(given)
    after = script.lines.text[end:].lstrip(" ")
    if after.startswith(","):
        end = script.lines.text.index(",", end) + 1
        end += len(script.lines.text[end:]) - len(script.lines.text[end:].lstrip(" "))
    without = script.source(call)
    whole = script.span(call)[0]
    without = without[: start - whole] + without[end - whole :]
    edited = script.edit(
        [Splice(*script.span(call), f"{model}.optimizer.learning_rate = {script.source(rate)}")]
    )
    return insert_before(edited, script.recorded(loop), f"{without}\n")


def _in_loop(script: Script, lines: Sequence[int]) -> tuple[ast.stmt, StatementLoop]:
    for line in lines:
        node = script.statement_at(line)
        if node is not None:
            loops = script.loops_around(node)
            if loops:
                return node, loops[0]
    raise CannotEdit("the loop around it is in another file", lines[0] if lines else None)


def _loop_at(script: Script, line: int) -> StatementLoop:
    found = script.loop_at(line)
    if found is None:
        raise CannotEdit(f"there is no loop on line {line}", line)
    return found


def _is_compile(node: ast.stmt, name: str | None) -> bool:
    """Whether a statement is `name.compile(…)`, or any `….compile(…)`."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=model, attr="compile"))):
            return name is None or dotted(model) == name
    return False


def _names(script: Script) -> tuple[str, str]:
    return script.fresh("first_weights"), script.fresh("first_state")


def _saved(model: str, script: Script) -> str:
    weights, state = _names(script)
    return (
        f"{model}.optimizer.build({model}.trainable_variables)\n"
        f"{weights} = {model}.get_weights()\n"
        f"{state} = [variable.numpy() for variable in {model}.optimizer.variables]\n"
    )


def _restored(model: str, script: Script) -> str:
    weights, state = _names(script)
    return (
        f"{model}.set_weights({weights})\n"
        f"for variable, value in zip({model}.optimizer.variables, {state}):\n"
        "    variable.assign(value)\n"
    )
