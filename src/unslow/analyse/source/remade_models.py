"""Loops that compile, or make and train, the same model in every turn, as the source shows it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from unslow.analyse.source.loop_turns import turns_of
from unslow.syntax import Kind, argument, own_nodes
from unslow.syntax.nodes import StatementLoop, method_of

if TYPE_CHECKING:
    from unslow.syntax import Source

# Between two of these each model is meant to start from nothing.
_RESETS = (
    "keras.backend.clear_session",
    "keras.utils.clear_session",
    "tf.random.set_seed",
    "tf.set_random_seed",
    "keras.utils.set_random_seed",
)


def loop_of_every_turn(source: Source, call: ast.Call, few: int) -> StatementLoop | None:
    """The one loop of more than `few` turns that runs a call in each of them."""
    loops = source.repeated_by(call)
    if len(loops) != 1 or source.trace_of(call) is not None:
        return None
    turns = turns_of(source, loops[0])
    is_short = turns is not None and turns <= few
    return None if is_short or any(source.conditions(call, loops[0])) else loops[0]


def is_compiled_again(source: Source, call: ast.Call, loop: StatementLoop) -> bool:
    """Whether a call compiles one model, which the loop trains, in the same way in every turn."""
    if method_of(call) != "compile" or not isinstance(call.func, ast.Attribute):
        return False
    model = call.func.value
    if source.kind(model) is not Kind.MODEL or _is_new_in_turn(source, model, call, loop):
        return False
    nodes = _run_in_turn(source, call, loop)
    # A layer that is frozen or thawed needs a new compile(), and so does another loss.
    is_thawed = any(isinstance(node, ast.Attribute) and node.attr == "trainable" for node in nodes)
    if is_thawed or not _trained_models(source, nodes):
        return False
    optimizer = argument(call, "optimizer", 0)
    others = [value for value in _arguments(call) if value is not optimizer]
    return not any(source.varies(value, loop) for value in others)


def is_made_again(source: Source, call: ast.Call, loop: StatementLoop) -> bool:
    """Whether a call makes a model that is trained, and then dropped, in every turn."""
    if source.kind(call) is not Kind.MODEL or source.varies(call, loop):
        return False
    names = _assigned_names(source.parents.get(call))
    nodes = _run_in_turn(source, call, loop)
    trained = [model for model in _trained_models(source, nodes) if isinstance(model, ast.Name)]
    if not names.intersection(model.id for model in trained):
        return False
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    is_reset = any(source.name(made.func) in _RESETS for made in calls)
    return not is_reset and not any(_is_handed_on(node, names) for node in nodes)


def _is_new_in_turn(source: Source, model: ast.expr, call: ast.Call, loop: StatementLoop) -> bool:
    """Whether a model is made, or handed over, in every turn of a loop."""
    if not source.bound_outside(model, loop):
        return True
    function = None if source.within(call, loop) else source.function(call)
    if function is None or not isinstance(model, ast.Name):
        return False
    return any(source.within(binding.node, function) for binding in source.reaching(model))


def _run_in_turn(source: Source, call: ast.Call, loop: ast.AST) -> list[ast.AST]:
    """The nodes of a loop, and those of the function that a call is in."""
    function = None if source.within(call, loop) else source.function(call)
    return [*own_nodes(loop), *(own_nodes(function) if function is not None else ())]


def _trained_models(source: Source, nodes: Iterable[ast.AST]) -> list[ast.expr]:
    """The models whose fit() is called among some nodes."""
    fits = [node.func for node in nodes if isinstance(node, ast.Call) and method_of(node) == "fit"]
    fitted = [method.value for method in fits if isinstance(method, ast.Attribute)]
    return [model for model in fitted if source.kind(model) is Kind.MODEL]


def _assigned_names(statement: ast.AST | None) -> set[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_handed_on(node: ast.AST, names: set[str]) -> bool:
    """Whether a node hands a model on: out of the function, into a container, or to a call."""
    given: list[ast.expr | None] = []
    match node:
        case ast.Return(value=value) | ast.Yield(value=value):
            given = [value]
        case ast.Assign(targets=targets, value=value):
            is_stored = any(not isinstance(target, ast.Name) for target in targets)
            given = [value] if is_stored else []
        case ast.Call():
            given = [*_arguments(node)]
    return any(names.intersection(_names_in(value)) for value in given)


def _names_in(value: ast.expr | None) -> list[str]:
    """A name, or those in a written tuple or list."""
    items = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
    return [item.id for item in items if isinstance(item, ast.Name)]
