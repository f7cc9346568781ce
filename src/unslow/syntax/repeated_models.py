"""Loops that compile, or make and train, the same model in every turn, as the source shows it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from unslow.syntax import Kind, argument, own_nodes
from unslow.syntax.nodes import StatementLoop, given_values, method_of, of_type, receiver_of

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
    loop = loops[0]
    turns = source.turns_of(loop)
    is_short = turns is not None and turns <= few
    return None if is_short or any(source.conditions(call, loop)) else loop


def is_compiled_again(source: Source, call: ast.Call, loop: StatementLoop) -> bool:
    """Whether a call compiles one model, which the loop trains, in the same way in every turn."""
    model = receiver_of(call)
    if model is None or method_of(call) != "compile":
        return False
    if source.kind(model) is not Kind.MODEL or _is_new_in_turn(source, model, call, loop):
        return False
    nodes = _run_in_turn(source, call, loop)
    # A layer that is frozen or thawed needs a new compile(), and so does another loss.
    is_thawed = any(node.attr == "trainable" for node in of_type(nodes, ast.Attribute))
    if is_thawed or not _trained_models(source, nodes):
        return False
    optimizer = argument(call, "optimizer", 0)
    others = [value for value in given_values(call) if value is not optimizer]
    return not any(source.varies(value, loop) for value in others)


def is_made_again(source: Source, call: ast.Call, loop: StatementLoop) -> bool:
    """Whether a call makes a model that is trained, and then dropped, in every turn."""
    if source.kind(call) is not Kind.MODEL or source.varies(call, loop):
        return False
    names = _assigned_names(source.parents.get(call))
    nodes = _run_in_turn(source, call, loop)
    if names.isdisjoint(_names(_trained_models(source, nodes))):
        return False
    is_reset = any(source.name(made.func) in _RESETS for made in of_type(nodes, ast.Call))
    return not is_reset and not any(_is_handed_on(node, names) for node in nodes)


def _is_new_in_turn(source: Source, model: ast.expr, call: ast.Call, loop: StatementLoop) -> bool:
    """Whether a model is made, or handed over, in every turn of a loop."""
    if not source.bound_outside(model, loop):
        return True
    function = _called_function(source, call, loop)
    if function is None or not isinstance(model, ast.Name):
        return False
    return any(source.within(binding.node, function) for binding in source.reaching(model))


def _run_in_turn(source: Source, call: ast.Call, loop: ast.AST) -> list[ast.AST]:
    """The nodes of a loop, and those of the function that a call is in."""
    function = _called_function(source, call, loop)
    bodies = [loop] if function is None else [loop, function]
    return [node for body in bodies for node in own_nodes(body)]


def _called_function(source: Source, call: ast.Call, loop: ast.AST) -> ast.AST | None:
    """The function that a call is in, where the loop calls it; None for a call in the loop."""
    return None if source.within(call, loop) else source.function(call)


def _trained_models(source: Source, nodes: Iterable[ast.AST]) -> list[ast.expr]:
    """The models whose fit() is called among some nodes."""
    fitted = [receiver_of(node) for node in nodes if method_of(node) == "fit"]
    return [model for model in fitted if model is not None and source.kind(model) is Kind.MODEL]


def _assigned_names(statement: ast.AST | None) -> set[str]:
    return _names(statement.targets) if isinstance(statement, ast.Assign) else set()


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {name.id for name in of_type(nodes, ast.Name)}


def _is_handed_on(node: ast.AST, names: set[str]) -> bool:
    """Whether a node hands a model on: out of the function, into a container, or to a call."""
    given: list[ast.expr | None] = []
    match node:
        case ast.Return(value=value) | ast.Yield(value=value):
            given = [value]
        case ast.Assign(targets=targets, value=value):
            is_stored = len(of_type(targets, ast.Name)) < len(targets)
            given = [value] if is_stored else []
        case ast.Call():
            given = [*given_values(node)]
    return any(names.intersection(_names_in(value)) for value in given)


def _names_in(value: ast.expr | None) -> set[str]:
    """A name, or those in a written tuple or list."""
    match value:
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return _names(items)
        case ast.Name(id=name):
            return {name}
    return set()
