"""Compile a function as it stands with `tf.function`, where a graph can keep all of it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced, spelling
from unslow.fix.moves.captured_values import called_in_loop, called_objects, captured, reset_objects
from unslow.fix.moves.decorators import decorate
from unslow.fix.moves.graph_rules import Offence, offence
from unslow.fix.moves.python_parts import needs_no_tensor
from unslow.fix.moves.step_arguments import numbers_to_wrap, one_object_each
from unslow.fix.moves.step_plan import Offends, training_loops
from unslow.fix.moves.tensor_results import results_as_tensors
from unslow.syntax.library import Kind
from unslow.syntax.nodes import (
    NamedFunction,
    inside,
    is_constant,
    of_type,
    own_nodes,
    values_taken,
)
from unslow.syntax.python_types import PythonType, python_type
from unslow.syntax.uses import uses


def compile_function(
    script: Script, function: NamedFunction, keywords: Mapping[str, str]
) -> Script:
    """Decorates a function that a graph can keep as a whole; CannotEdit says what forbids it."""
    require_compilable(script, function)
    line = script.recorded(function)
    try:
        wrapped = arguments_to_wrap(script, function)
    except Offends as problem:
        tensors = results_as_tensors(script, function)
        if tensors is None:
            raise script.refuse(problem.offence.reason, problem.offence.node) from problem
        found = tensors.function_at(line)
        assert found is not None
        return compile_function(tensors, found, keywords)
    return decorated(script, function, wrapped, keywords)


def decorated(
    script: Script,
    function: NamedFunction,
    wrapped: Sequence[ast.expr],
    keywords: Mapping[str, str],
) -> Script:
    """The function as a `tf.function` that is given some of its arguments as tensors."""
    line = script.recorded(function)
    if wrapped:
        known, imports = known_tensorflow(script, function)
        # The function's body stays as it is, so its line still finds it.
        tensors = [
            replaced(script, node, f"{known}.constant({script.source(node)})") for node in wrapped
        ]
        script = script.edit([*imports, *tensors])
    return decorate(script, line, keywords)


def known_tensorflow(script: Script, node: ast.AST) -> tuple[str, list[Splice]]:
    """How TensorFlow is spelled at a node, with the import that it lacks."""
    known, imports = spelling(script, "tf", node)
    is_late = not imports and script.alias("tf", node) is None
    script.refuse_if(is_late, "TensorFlow is imported too late for a function here", node)
    return known, imports


def require_compilable(script: Script, function: NamedFunction) -> None:
    if isinstance(function, ast.AsyncFunctionDef):
        raise script.refuse(f"`{function.name}` is a coroutine", function)
    around = script.function_of(function)
    repeated = around is not None and called_in_loop(script, around)
    if repeated or script.loops_around(function):
        raise script.refuse(f"`{function.name}` is defined anew again and again", function)
    owner = script.class_of_method(function)
    keras = owner is not None and script.class_kind(owner) is Kind.MODEL
    if keras and function.name == "train_step" and not script.possible_calls(function):
        reason = "Keras compiles `train_step` itself unless it is told to run eagerly"
        raise script.refuse(reason, function)


def arguments_to_wrap(script: Script, function: NamedFunction) -> list[ast.expr]:
    """The arguments to wrap if the function is compiled as it stands; raises where it cannot be."""
    taken, body = values_taken(function), function.body
    found = (
        offence(script, body, taken, function)
        or captured(script, body, taken, function)
        or _odd_result(script, function)
        or reset_objects(script, body, training_loops(script, body, function))
    )
    if found is not None:
        raise Offends(found, body)
    one_object_each(script, function, called_objects(body)[0])
    wrapped = numbers_to_wrap(script, function, body)
    return [value for values in wrapped.values() for value in values]


def _odd_result(script: Script, function: NamedFunction) -> Offence | None:
    """A compiled function can give back tensors only."""
    called, _ = called_objects(function.body)
    some = _result_of_some_paths(script, function)
    if some is not None:
        return some
    for node in inside(function, ast.Return):
        text = python_type(script, node.value) is PythonType.TEXT
        if text or isinstance(node.value, ast.Lambda):
            return Offence("it returns something that is no tensor", node)
        for value in _returned(node.value):
            if isinstance(value, ast.Name) and value.id in called:
                return Offence(f"it returns `{value.id}`, which is no tensor", node)
    return None


def _result_of_some_paths(script: Script, function: NamedFunction) -> Offence | None:
    """A condition on a tensor under which the function gives back nothing, or that it gives back
    something under: both branches of a graph give the same.
    """
    returns = of_type(own_nodes(function), ast.Return)
    empty = [node for node in returns if node.value is None or is_constant(node.value, None)]
    if not empty or len(empty) == len(returns):
        return None
    tensors = values_taken(function) | uses(function.body).writes
    for node in of_type(own_nodes(function), ast.If):
        inner = [each for each in returns if script.within(each, node)]
        if inner and not needs_no_tensor(script, node.test, tensors) and not _is_none(node.test):
            return Offence("it gives back a value on some of its paths only", inner[0])
    return None


def _is_none(test: ast.expr) -> bool:
    """`x is None`, which is known while the function is traced."""
    match test:
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return True
    return False


def _returned(node: ast.expr | None) -> list[ast.expr]:
    """What a function returns, one by one."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            return [inner for part in parts for inner in _returned(part)]
    return [] if node is None else [node]
