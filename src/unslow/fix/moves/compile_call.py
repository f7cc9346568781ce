"""The move for `eager-calls`: what a loop calls op by op becomes one compiled call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import insert_after, insert_before, replaced, spelled
from unslow.fix.moves.captured_values import called_in_loop
from unslow.fix.moves.compile_function import compile_function
from unslow.fix.moves.compile_metric import compile_metric, metric_at
from unslow.fix.moves.shapes import DRAWS, call_by, reads
from unslow.fix.moves.without_xla import has_noisy_layer
from unslow.syntax.library import Kind
from unslow.syntax.nodes import (
    NamedFunction,
    argument,
    dotted,
    inside,
    is_constant,
    last_name,
    method_of,
    words,
)

_FUNCTION = "tf.function"
_ANY_SHAPE = {"reduce_retracing": "True"}
_PLACES = (ast.Name, ast.Attribute)
_OF_MODELS = words("trainable_variables trainable_weights get_weights set_weights load_weights")
_CONVERSIONS = words("tf.constant tf.convert_to_tensor tf.cast")
_ASSIGNS = words("assign assign_add assign_sub")
_DEEPEST = 3  # functions that call others which draw; a judgement


@dataclass(frozen=True)
class Compiled:
    """The edited script, what is compiled now, and whether that draws random numbers."""

    script: Script
    name: str
    draws: bool = False


def compile_call(script: Script, line: int, calls_model: bool = False) -> Compiled:
    """Compiles the function or model that a line calls, or the function that the line is part of.

    With `calls_model`, the line is known to call a model, whatever its name is bound to.
    The first one that a graph can keep is taken; otherwise the metric that the line updates;
    otherwise the other functions of TensorFlow's ops that the same loop calls, since what a loop
    repeats is one thing; otherwise the first obstacle is raised.
    """
    problem: CannotEdit | None = None
    for attempt in _attempts(script, line, calls_model):
        try:
            found = attempt()
        except CannotEdit as refused:
            problem = problem or refused
            continue
        if found is not None:
            return found
    raise problem or script.refuse("the line calls neither a function nor a model", line)


def _attempts(
    script: Script, line: int, calls_model: bool
) -> Iterator[Callable[[], Compiled | None]]:
    """What may be compiled for a line, the best first."""
    for call in script.calls_at(line):
        yield partial(_compiled, script, call, calls_model)
    around = script.function_at(line)
    in_loop = script.loop_at(line) is not None
    if in_loop:
        yield partial(_compiled_metric, script, line)
        yield partial(_compiled_beside, script, line)
    # A loop inside of a function is compiled with it, if it is the function that is repeated.
    if around is not None and (not in_loop or called_in_loop(script, around)):
        yield partial(_compiled_function, script, around)


def _compiled_metric(script: Script, line: int) -> Compiled | None:
    metric = metric_at(script, line)
    if metric is None:
        return None
    return Compiled(compile_metric(script, metric), f"{metric.id}.update_state")


def _compiled_beside(script: Script, line: int) -> Compiled | None:
    """The functions that run ops for the loop around a line, those of them that can be compiled."""
    loop = script.loop_at(line)
    assert loop is not None
    functions = [script.own_function(call) for call in inside(loop.body, ast.Call)]
    found: Compiled | None = None
    for first_line in dict.fromkeys(f.lineno for f in functions if f is not None):
        before = found.script if found is not None else script
        function = before.function_at(script.recorded(first_line))
        if function is None or before.compiler(function) or not _runs_ops(before, function):
            continue
        try:
            compiled = _compiled_function(before, function)
        except CannotEdit:
            continue
        names = f"{found.name}` and `{compiled.name}" if found is not None else compiled.name
        draws = compiled.draws or (found is not None and found.draws)
        found = Compiled(compiled.script, names, draws)
    return found


def _runs_ops(script: Script, function: NamedFunction) -> bool:
    """Whether a function runs ops for their effect or result: not only to hand data over."""
    calls = {script.name(call.func) or method_of(call) for call in inside(function.body, ast.Call)}
    ops = {name for name in calls - _CONVERSIONS if name.startswith("tf.")}
    return bool(ops or calls & _ASSIGNS)


def _compiled_function(script: Script, function: NamedFunction) -> Compiled:
    draws = draws_in_graph(script, function.body)
    return Compiled(compile_function(script, function, _ANY_SHAPE), function.name, draws)


def draws_in_graph(script: Script, code: Sequence[ast.AST], depth: int = _DEEPEST) -> bool:
    """Whether code draws random numbers in a graph, by TensorFlow or by a layer that trains."""
    calls = list(inside(code, ast.Call))
    if any(script.name(call.func).startswith(DRAWS) for call in calls):
        return True
    trains = [argument(call, "training") for call in calls]
    if any(each is not None and not is_constant(each, False) for each in trains):
        return has_noisy_layer(script)
    inner = [script.own_function(call) for call in calls] if depth else []
    return any(draws_in_graph(script, each.body, depth - 1) for each in inner if each is not None)


def _compiled(script: Script, call: ast.Call, calls_model: bool) -> Compiled | None:
    """The script with what a call calls compiled; None where it calls nothing of the kind."""
    function = script.own_function(call)
    if function is not None and script.compiler(function) is None:
        return _compiled_function(script, function)
    if _is_model(script, call, calls_model):
        return _with_compiled_model(script, call)
    return None


def _is_model(script: Script, call: ast.Call, calls_model: bool) -> bool:
    """Whether the call runs a Keras model; `training=` is what only Keras takes.

    On a line that is known to call a model, it is the name or attribute that the script sets.
    """
    if not isinstance(call.func, _PLACES) or method_of(call) in ("fit", "predict", "evaluate"):
        return False
    known = script.kind(call.func)
    if known is not Kind.UNKNOWN or script.callee(call) is not None:
        return known is Kind.MODEL
    if calls_model and script.assignments(call.func):
        return True
    return argument(call, "training") is not None or _has_weights(script, call.func)


def _has_weights(script: Script, model: ast.expr) -> bool:
    """Whether the script asks the same name for its weights somewhere."""
    name = ast.dump(model)
    asked = [node.value for node in script.every(ast.Attribute) if node.attr in _OF_MODELS]
    return any(ast.dump(value) == name for value in asked)


def _with_compiled_model(script: Script, call: ast.Call) -> Compiled:
    """A compiled twin of the model, made once where the model is made, is called instead."""
    model = script.needed(dotted(call.func), "the model that is called here has no name", call)
    line, draws = script.recorded(call), draws_in_graph(script, [call])
    given = _handed_in(script, call)
    model = dotted(given[0]) or "" if given else model
    holder, _, own = model.rpartition(".")
    twin = script.fresh(f"compiled_{own}") if not holder else f"{holder}.compiled_{own}"
    place, before = _place(script, given[0] if given else call.func)
    made_at = script.recorded(place)
    splices = [replaced(script, each, twin) for each in given or [call.func]]
    script, compiler = spelled(script.edit(splices), _FUNCTION)
    code = f"{twin} = {compiler}({model}, reduce_retracing=True)\n"
    put_in = insert_before if before else insert_after
    script = put_in(script, made_at, code)
    script.refuse_if(script.now(line) is None, "the call is on the line that makes the model", call)
    return Compiled(script, last_name(call.func), draws)


def _handed_in(script: Script, call: ast.Call) -> list[ast.expr]:
    """What the calls of a function give for the model that it only calls, where it is one model."""
    function = script.function_of(call)
    match [item.node for item in script.assignments(call.func)]:
        case [ast.arg() as parameter] if function is not None and called_in_loop(script, function):
            given = script.values_given(parameter)
        case _:
            return []
    is_one = len({ast.dump(value) for value in given}) == 1 and dotted(given[0]) is not None
    uses = reads(function.body, parameter.arg)
    return given if is_one and all(call_by(script, use) for use in uses) else []


def _place(script: Script, model: ast.expr) -> tuple[ast.stmt, bool]:
    """The statement that makes the model; for a parameter, the loop to stand in front of (True)."""
    bindings = script.assignments(model)
    if len(bindings) != 1:
        raise script.refuse(f"`{script.source(model)}` is set in more than one place", model)
    node = bindings[0].node
    if isinstance(node, ast.arg):
        function = script.function_of(model)
        loops = script.loops_around(model)
        if function is None or not loops or called_in_loop(script, function):
            raise script.refuse(f"`{node.arg}` may be another model in each call", model)
        return script.statement_of(loops[-1]), True
    made = script.statement_of(node)
    owner = script.function_of(made)
    repeated = owner is not None and called_in_loop(script, owner)
    if repeated or script.loops_around(made):
        raise script.refuse(f"`{script.source(model)}` is made again and again", made)
    return made, False
