"""Let a helper that compiles a model do so at its first call only."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unslow.fix.edit.blocks import in_place, indent, reindented, unit
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.syntax.nodes import (
    NamedFunction,
    argument,
    dotted,
    given_values,
    inside,
    method_of,
    receiver_of,
    values_taken,
    words,
)
from unslow.syntax.uses import bound_in, uses

_TRAINING = words("train_on_batch fit train_step")


def compiled_in_helper(script: Script, line: int) -> ast.Expr | None:
    """`model.compile(…)` at a line, where it stands in a function and in no loop of it."""
    match script.statement_at(line):
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="compile"))) as node:
            inside_function = script.function_of(node) is not None
            return node if inside_function and not script.loops_around(node) else None
    return None


def compile_first_time(script: Script, node: ast.Expr) -> Script:
    """Puts `model.compile(…)` under `if getattr(model, "optimizer", None) is None`."""
    call, helper = node.value, script.function_of(node)
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    assert helper is not None
    model = script.needed(dotted(call.func.value), "the model is not kept under one name", node)
    if model in uses(helper.body).writes:
        raise script.refuse(f"`{helper.name}` makes the model that it compiles", node)
    decided = (values_taken(helper) | uses(helper.body).writes) - {model}
    rate = learning_rate(script, argument(call, "optimizer", 0))
    parts = [part for part in inside(given_values(call), ast.Name) if part.id in decided]
    for part in parts:
        sets_rate = rate is not None and script.within(part, rate)
        reason = f"`{part.id}` of `{helper.name}` decides how the model is compiled"
        script.refuse_if(not sets_rate, reason, node)
    others = values_taken(helper) - {model} - {part.id for part in parts}
    for path in sorted(_models(script, helper, model)):
        if others:
            _require_one_state(script, helper, model, path)
        _require_one_compile(script, node, path)
    return script.edit([_first_time(script, node, model, rate if parts else None)])


def _first_time(script: Script, node: ast.Expr, model: str, rate: ast.expr | None) -> Splice:
    """A call of compile() under a condition; otherwise only the learning rate is set."""
    margin, newline = indent(script, node), script.lines.newline
    inner = margin + unit(script, node)
    body = reindented(script, [node], inner)
    text = f'{margin}if getattr({model}, "optimizer", None) is None:{newline}{body}'
    if rate is not None:
        row = f"{model}.optimizer.learning_rate = {script.source(rate)}"
        text += f"{margin}else:{newline}{inner}{row}{newline}"
    return in_place(script, [node], text)


def learning_rate(script: Script, optimizer: ast.expr | None) -> ast.expr | None:
    """The learning rate with which an optimizer of Keras is made, where that is written out."""
    match optimizer:
        case ast.Call(func=made) if script.name(made).startswith("keras.optimizers."):
            return argument(optimizer, "learning_rate", 0)
    return None


def _models(script: Script, helper: NamedFunction, model: str) -> set[str]:
    """How the callers in this file name the model that a helper compiles."""
    paths = {_given(script, helper, call, model) for call in script.possible_calls(helper)}
    return {path for path in paths if path is not None}


def _given(script: Script, helper: NamedFunction, call: ast.Call, model: str) -> str | None:
    """What a call hands in as the model; the model itself where the helper finds it in `self`."""
    if model not in values_taken(helper):
        return model
    return dotted(dict(script.arguments_of(helper, call)).get(model))


def _require_one_state(script: Script, helper: NamedFunction, model: str, path: str) -> None:
    """Raises where a model is trained after calls of the helper with different arguments.

    A train function that is kept does not see that weights were frozen since it was traced.
    """
    possible = script.possible_calls(helper)
    calls = [call for call in possible if _given(script, helper, call, model) == path]
    for call in calls:
        for loop in script.loops_around(call):
            changing = sorted(uses(given_values(call)).reads & bound_in(loop))
            if changing:
                reason = f"`{changing[0]}`, which `{helper.name}` is given, changes in the loop"
                raise script.refuse(reason, call)
    scopes = {script.home(call) for call in calls}
    states = {
        state: training for scope in scopes for state, training in _states(scope, calls, path)
    }
    if len(states) > 1:
        last = max(states.values(), key=lambda call: call.lineno)
        reason = f"`{path}` is trained here after another `{helper.name}` than elsewhere"
        raise script.refuse(reason, last)


def _states(
    scope: NamedFunction | ast.Module, calls: list[ast.Call], path: str
) -> Iterator[tuple[str, ast.Call]]:
    """With which arguments of the helper the model is trained, in the order of the text.

    The first ones are those of the last call: in a loop, that of the turn before.
    """
    ordered = sorted(inside(scope, ast.Call), key=lambda call: (call.lineno, call.col_offset))
    own = [call for call in ordered if call in calls]
    state = _arguments(own[-1])
    for call in ordered:
        if call in calls:
            state = _arguments(call)
        elif method_of(call) in _TRAINING and dotted(receiver_of(call)) == path:
            yield state, call


def _arguments(call: ast.Call) -> str:
    return ", ".join(ast.dump(value) for value in given_values(call))


def _require_one_compile(script: Script, node: ast.Expr, path: str) -> None:
    compiles = [call for call in script.every(ast.Call) if method_of(call) == "compile"]
    for call in compiles:
        other = call is not node.value and dotted(receiver_of(call)) == path
        script.refuse_if(other, f"`{path}` is also compiled here", call)
