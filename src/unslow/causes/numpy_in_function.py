"""Broken recipe: `.numpy()` on a value of a graph that is still being traced."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from unslow.cause import Cause, Spot
from unslow.syntax import FUNCTIONS, Definition, Function, How, Kind, own_nodes

if TYPE_CHECKING:
    from unslow.syntax import Source

_MAY_BE_TENSOR = (Kind.TENSOR, Kind.VARIABLE, Kind.UNKNOWN)


class NumpyInFunction(Cause):
    """
    What happens

    A function that TensorFlow traces (a `tf.function`, the function given to `Dataset.map`, the
    `train_step` of a Keras model, and all that they call) asks a tensor for its value with
    `.numpy()`, or prints a tensor with Python's `print`.

    Why it is slow

    It does not do what it says. While a function is traced, its tensors have no values yet:
    `.numpy()` raises AttributeError (NotImplementedError for a variable). `print` runs once per
    trace, not once per call, and shows the tensor's name and shape instead of its value. Often the
    `tf.function` is then removed to see the numbers, and the training runs op by op.

    The fix

    Return the tensor and call `.numpy()` on what the compiled function returns; write `tf.print(x)`
    to see values in every call; wrap what must be Python in `tf.py_function`.

    When we are wrong

    A tensor made before the function is traced has a value that can be read; so has everything
    under `tf.init_scope()` or where functions run eagerly. A `print` of a tensor may be meant to
    show when the function is traced.
    """

    title = "a traced tensor is asked for its value"
    ran = False

    def spot(self, source: Source) -> Iterable[Spot]:
        for function, trace in source.traces.items():
            if not isinstance(function, FUNCTIONS):
                continue
            for call in _asked(source, function):
                yield source.spot(
                    call,
                    f"`.numpy()` runs while {trace.name} is traced, when tensors have no values "
                    "yet: it raises",
                    "return the tensor and call .numpy() on the result, or use tf.print(...) to "
                    "see it",
                )
            yield from _prints(source, function, trace.name)
            yield from _elsewhere(source, function)
        yield from _wrapped_from_elsewhere(source)


def _asked(source: Source, function: Function) -> Iterator[ast.Call]:
    """The `.numpy()` calls of a traced function on values that it gets or makes itself."""
    for node in own_nodes(function):
        match node:
            case ast.Call(func=ast.Attribute(attr="numpy", value=value), args=[], keywords=[]):
                is_traced = not source.eager_corner(node, function)
                if is_traced and _has_no_value(source, value, function):
                    yield node


def _has_no_value(source: Source, value: ast.expr, function: Function) -> bool:
    kind, root = source.kind(value), _root(value)
    if kind not in _MAY_BE_TENSOR:
        return False
    if isinstance(root, ast.Name) and kind is not Kind.VARIABLE:
        return _belongs_to(source, root, function)
    return kind is not Kind.UNKNOWN  # a variable, or made in place by an op


def _root(value: ast.expr) -> ast.expr:
    """`x` of `x.y[0]`; a call is its own root, for what it gives is new."""
    while isinstance(value, (ast.Attribute, ast.Subscript)):
        value = value.value
    return value


def _belongs_to(source: Source, name: ast.Name, function: Function) -> bool:
    """Whether a name holds what the traced function was given or made; `self` does not."""
    if source.class_of_self(name.id, source.scope_at(name)) is not None:
        return False
    bindings = source.reaching(name)
    return bool(bindings) and all(
        binding.how is not How.IMPORT and source.within(binding.node, function)
        for binding in bindings
    )


def _prints(source: Source, function: Function, name: str) -> Iterator[Spot]:
    calls = [node for node in own_nodes(function) if isinstance(node, ast.Call)]
    if any(source.name(call.func) == "tf.print" for call in calls):
        return  # both kinds of print in one function are there to show the difference
    prints = [call for call in calls if source.name(call.func) == "print"]
    for call in prints:
        shown = [value for item in call.args for value in _values(item)]
        is_tensor = any(_is_made_here(source, value, function) for value in shown)
        if is_tensor and source.trace_of(call) is not None:
            yield source.spot(
                call,
                "this print runs once per trace and shows a tensor without its value, because it "
                f"is in the graph that {name} is traced into",
                "tf.print(...) prints the value in every call",
            )


def _values(item: ast.expr) -> list[ast.expr]:
    """What a `print` shows of an argument: the fields of an f-string, or the argument itself."""
    if not isinstance(item, ast.JoinedStr):
        return [item]
    return [part.value for part in item.values if isinstance(part, ast.FormattedValue)]


def _is_made_here(source: Source, value: ast.expr, function: Function) -> bool:
    if source.kind(value) is not Kind.TENSOR:
        return False
    root = _root(value)
    if not isinstance(root, ast.Name):
        return True
    made = source.reaching(root)
    return all(
        item.how is not How.PARAMETER and source.within(item.node, function) for item in made
    )


def _elsewhere(source: Source, function: Function) -> Iterator[Spot]:
    """Calls into the user's other files that end at a `.numpy()` there."""
    for call, definition in source.traced_calls(function):
        if definition.source is not source:
            yield from _at(source, call, definition)


def _wrapped_from_elsewhere(source: Source) -> Iterator[Spot]:
    if not source.runs_eagerly:
        for value, definition in source.handed_over():
            if definition.source is not source:
                yield from _at(source, value, definition)


def _at(source: Source, node: ast.AST, definition: Definition[Source]) -> Iterator[Spot]:
    place = _first_asked(definition, set())
    if place:
        yield source.spot(
            node,
            f"this is traced and leads to `.numpy()` at {place}, when tensors have no values yet: "
            "it raises",
            "return the tensor from there and call .numpy() on the result outside, or use "
            "tf.print(...)",
        )


def _first_asked(definition: Definition[Source], seen: set[ast.AST]) -> str:
    source, function = definition.source, definition.node
    if function in seen or not isinstance(function, FUNCTIONS):
        return ""
    seen.add(function)
    for call in _asked(source, function):
        return f"{source.path}:{source.spot(call, '', '').line}"
    places = (_first_asked(inner, seen) for _, inner in source.traced_calls(function))
    return next((place for place in places if place), "")
