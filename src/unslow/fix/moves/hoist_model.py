"""Make a model once, before a loop, and start each turn from its first weights."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import insert_before
from unslow.fix.moves.call_arguments import without_argument
from unslow.fix.moves.compile_once import compile_first_time, compiled_in_helper, learning_rate
from unslow.fix.moves.hoist import dependence, hoist_statement
from unslow.fix.moves.kept_model import model_kept
from unslow.fix.moves.shapes import only
from unslow.syntax.nodes import StatementLoop, argument, dotted, given_values


def model_once(script: Script, lines: Sequence[int]) -> Script:
    """Hoist `model = …` and `model.compile(…)`; lines are innermost first."""
    helped = compiled_in_helper(script, lines[0]) if lines else None
    if helped is not None:
        return compile_first_time(script, helped)
    node, loop = _in_loop(script, lines)
    if node is None or loop is None:
        return model_kept(script, lines)
    if isinstance(node, ast.Expr) and _is_compile(node, None):
        try:
            return hoist_statement(script, script.recorded(node))
        except CannotEdit as problem:
            return _compiled_once(script, node, loop, problem)
    target = only(node.targets) if isinstance(node, ast.Assign) else None
    name = dotted(target)
    if name is None:
        return model_kept(script, lines)
    header, first = script.recorded(loop), script.recorded(node)
    compiles = [script.recorded(other) for other in loop.body if _is_compile(other, name)]
    edited = hoist_statement(script, first)
    for line in compiles:
        edited = hoist_statement(edited, line)
    edited = insert_before(edited, header, _saved(name, script))
    moved = edited.loop_at(header)
    assert moved is not None
    return insert_before(edited, edited.recorded(moved.body[0]), _restored(name, script))


def _compiled_once(
    script: Script, node: ast.Expr, loop: StatementLoop, problem: CannotEdit
) -> Script:
    """Compiles before the loop where only the learning rate changes, which each turn then sets."""
    call = node.value
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    optimizer = argument(call, "optimizer", 0)
    rate = learning_rate(script, optimizer)
    if rate is None or not isinstance(optimizer, ast.Call):
        raise problem
    given = [*given_values(call), *given_values(optimizer)]
    rest = [part for part in given if part not in (optimizer, rate)]
    if dependence(script, loop, [call.func.value, *rest]) is not None:
        raise problem
    model, (start, end) = script.source(call.func.value), script.span(call)
    named = next((word for word in optimizer.keywords if word.value is rate), None)
    gone = without_argument(script, optimizer, named or rate)
    compiled = script.lines.text[start : gone.start] + script.lines.text[gone.end : end]
    setting = Splice(start, end, f"{model}.optimizer.learning_rate = {script.source(rate)}")
    return insert_before(script.edit([setting]), script.recorded(loop), f"{compiled}\n")


def _in_loop(
    script: Script, lines: Sequence[int]
) -> tuple[ast.stmt, StatementLoop] | tuple[None, None]:
    for line in lines:
        node = script.statement_at(line)
        if node is not None:
            loops = script.loops_around(node)
            if loops:
                return node, loops[0]
    return None, None


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
