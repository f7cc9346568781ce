"""Accumulators in source: the names that statements add to or set to zero."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from unslow.syntax import How, Source, argument
from unslow.syntax.nodes import method_of, receiver_of

_ZEROS = (
    "tf.zeros_like",
    "tf.zeros",
    "numpy.zeros_like",
    "numpy.zeros",
    "keras.ops.zeros_like",
    "keras.ops.zeros",
)
_HOLDERS = ("list", "tuple", "tf.Variable", "keras.Variable", "tf.identity", "tf.constant")
_MAPPERS = ("map", "tf.nest.map_structure", "keras.tree.map_structure")
_ADDS = ("tf.add", "tf.math.add", "tf.add_n", "numpy.add", "keras.ops.add")


def key_of(node: ast.AST | None) -> str:
    """A name, or an attribute of one such as `self.x`; nothing for other expressions."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            return f"{name}.{attribute}"
    return ""


def keys_in(node: ast.AST | None) -> set[str]:
    """The names and `self.x` that an expression reads."""
    return {key_of(part) for part in ast.walk(node)} - {""} if node is not None else set()


def added_to(source: Source, node: ast.AST) -> set[str]:
    """The accumulators that a statement or call adds to."""
    match node:
        case ast.AugAssign(op=ast.Add(), target=target):
            return _holders(source, target)
        case ast.Assign(targets=targets, value=value):
            is_sum = any(_is_sum(source, part) for part in ast.walk(value))
            return _all_holders(source, targets) & keys_in(value) if is_sum else set()
    return _holders(source, receiver_of(node)) if method_of(node) == "assign_add" else set()


def zeroed_by(source: Source, node: ast.AST) -> set[str]:
    """The accumulators that a statement or call sets to zero."""
    match node:
        case ast.Assign(targets=targets, value=value):
            return _all_holders(source, targets) if _is_zero(source, value) else set()
        case ast.Call(func=ast.Attribute(value=receiver, attr="assign")):
            given = argument(node, "value", 0)
            is_zero = given is not None and _is_zero(source, given)
            return _holders(source, receiver) if is_zero else set()
    return set()


def _all_holders(source: Source, targets: Iterable[ast.AST]) -> set[str]:
    return set().union(*(_holders(source, target) for target in targets))


def _holders(source: Source, target: ast.AST | None) -> set[str]:
    """The accumulator behind `acc`, `acc[i]`, or a variable that a loop takes out of `acc`."""
    while isinstance(target, ast.Subscript):
        target = target.value
    bindings = source.reaching(target) if isinstance(target, ast.Name) else []
    iterated = [binding.value for binding in bindings if binding.how is How.LOOP]
    return {key_of(target)}.union(*map(keys_in, iterated)) - {""}


def _is_sum(source: Source, node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add)
    return isinstance(node, ast.Call) and source.name(node.func) in _ADDS


def _is_zero(source: Source, value: ast.expr) -> bool:
    """Whether a value is zero, or is made of zeros only."""
    match value:
        case ast.Constant(value=constant):
            return constant is None or (constant == 0 and not isinstance(constant, bool))
        case ast.List(elts=items):
            return bool(items) and all(_is_zero(source, item) for item in items)
        case ast.ListComp(elt=part) | ast.GeneratorExp(elt=part) | ast.Lambda(body=part):
            return _is_zero(source, part)
        case ast.BinOp(op=ast.Mult(), left=left):
            return isinstance(left, ast.List) and _is_zero(source, left)
        case ast.Call():
            return _makes_zeros(source, value)
        case _:
            return source.name(value) in _ZEROS


def _makes_zeros(source: Source, call: ast.Call) -> bool:
    """Whether a call makes zeros, or keeps or maps what makes them."""
    name = source.name(call.func)
    if name in _ZEROS:
        return True
    passes_on = name in _HOLDERS or name in _MAPPERS
    return passes_on and bool(call.args) and _is_zero(source, call.args[0])
