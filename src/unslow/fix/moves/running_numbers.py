"""Numbers that a loop computes as tensors op by op; NumPy takes a hundredth of the time."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from unslow.fix.edit.script import Script
from unslow.fix.moves.shapes import call_by, is_call, reads, stores
from unslow.syntax.library import TENSOR_LIKE
from unslow.syntax.nodes import StatementLoop, dotted, inside, is_stored

_STACKS = ("tf.stack", "tf.convert_to_tensor", "tf.constant", "numpy.array", "numpy.stack")


@dataclass(frozen=True)
class Number:
    """`total = tf.constant(0.0)`, then computed of itself and of elements."""

    name: str
    starts: list[ast.Call]  # the constants that it begins with
    statements: list[ast.AST]  # that compute it


def running_numbers(script: Script, loop: StatementLoop, tensors: set[str]) -> list[Number]:
    """Names that a loop computes from elements of some tensors alone."""
    names = {node.id for node in inside(loop, ast.Name) if is_stored(node)}
    scope = script.home(loop)
    numbers = (_bound(script, scope, name) for name in sorted(names))
    return [each for each in numbers if _is_running(script, scope, each, tensors)]


def _bound(script: Script, scope: ast.AST, name: str) -> Number:
    """All that binds a name: constants to begin with, and other statements."""
    found = Number(name, [], [])
    for node in stores(scope, name):
        match script.parents[node]:
            case ast.Assign(targets=[_], value=ast.Call() as value) if _is_start(script, value):
                found.starts.append(value)
            case statement:
                found.statements.append(statement)
    return found


def _is_start(script: Script, call: ast.Call) -> bool:
    """`tf.constant(0.0)`: a float of TensorFlow's usual type."""
    match call:
        case ast.Call(args=[ast.Constant(value=float())], keywords=[]):
            return is_call(script, call, "tf.constant")
    return False


def _is_running(script: Script, scope: ast.AST, number: Number, tensors: set[str]) -> bool:
    """Whether a number will do for a tensor wherever it is set and read."""
    for statement in number.statements:
        match statement:
            case ast.Assign(targets=[_], value=value) | ast.AugAssign(value=value):
                computed = _is_computed(script, value, number.name, tensors)
            case _:
                computed = False
        if not computed:
            return False
    used = all(_is_number_use(script, node, number) for node in reads(scope, number.name))
    return used and bool(number.starts)


def _is_computed(script: Script, value: ast.expr, own: str, tensors: set[str]) -> bool:
    """Whether operators alone compute a value from numbers and fetched elements."""
    match value:
        case ast.BinOp(left=left, right=right):
            return all(_is_computed(script, part, own, tensors) for part in (left, right))
        case ast.UnaryOp(operand=operand):
            return _is_computed(script, operand, own, tensors)
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Name() | ast.Constant()):
            return name in tensors
        case ast.Name() | ast.Attribute():
            return dotted(value) == own or script.kind(value) not in TENSOR_LIKE
    return isinstance(value, ast.Constant)


def _is_number_use(script: Script, node: ast.Name, number: Number) -> bool:
    """Whether a number will do: it is computed with, made Python's, or collected to be stacked."""
    if script.statement_of(node) in number.statements:
        return True
    match script.parents[node]:
        case ast.Call(func=ast.Attribute(value=ast.Name() as holder, attr="append" | "insert")):
            return _is_stacked(script, holder)
        case parent:
            return is_call(script, parent, "float", "int")


def _is_stacked(script: Script, holder: ast.Name) -> bool:
    """Whether a list is filled and then made one tensor, and nothing else."""
    uses = reads(script.home(holder), holder.id)
    stacks = [use for use in uses if is_call(script, script.parents[use], *_STACKS)]
    others = [use for use in uses if use not in stacks]
    return bool(stacks) and all(_is_filled(script, use) for use in others)


def _is_filled(script: Script, use: ast.Name) -> bool:
    match script.parents[use]:
        case ast.Attribute(attr="append" | "insert") as method if call_by(script, method):
            return True
    # After `out = tf.stack(out)` the name is a tensor of its own.
    later = [item.assigned for item in script.reaching(use)]
    return bool(later) and all(isinstance(value, ast.Call) for value in later)
