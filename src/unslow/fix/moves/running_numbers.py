"""Numbers that a loop computes as tensors op by op; NumPy takes a hundredth of the time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from unslow.fix.edit.script import Script
from unslow.syntax.library import TENSOR_LIKE
from unslow.syntax.nodes import StatementLoop, inside, is_stored, method_of

_FILLS = ("append", "insert")
_STACKS = ("tf.stack", "tf.convert_to_tensor", "tf.constant", "numpy.array", "numpy.stack")


@dataclass(frozen=True)
class Number:
    """`total = tf.constant(0.0)`, then computed of itself and of elements."""

    name: str
    starts: tuple[ast.Call, ...]  # the constants that it begins with
    statements: tuple[ast.stmt, ...]  # that compute it


def running_numbers(script: Script, loop: StatementLoop, tensors: set[str]) -> list[Number]:
    """Names that a loop computes from elements of some tensors alone."""
    scope = script.function_of(loop) or script.tree
    names = {node.id for node in inside(loop, ast.Name) if is_stored(node)}
    found = [_number(script, scope, name, tensors) for name in sorted(names)]
    return [number for number in found if number is not None]


def _number(script: Script, scope: ast.AST, name: str, tensors: set[str]) -> Number | None:
    starts: list[ast.Call] = []
    statements: list[ast.stmt] = []
    for node in inside(scope, ast.Name):
        if node.id != name or not is_stored(node):
            continue
        statement = script.parents[node]
        match statement:
            case ast.Assign(targets=[_], value=ast.Call() as value) if _is_start(script, value):
                starts.append(value)
            case ast.Assign(targets=[_], value=value) | ast.AugAssign(value=value):
                if not _is_computed(script, value, {name}, tensors):
                    return None
                statements.append(statement)
            case _:
                return None
    reads = [node for node in inside(scope, ast.Name) if node.id == name and not is_stored(node)]
    allowed = all(_is_number_use(script, node, statements) for node in reads)
    return Number(name, tuple(starts), tuple(statements)) if starts and allowed else None


def _is_start(script: Script, call: ast.Call) -> bool:
    """`tf.constant(0.0)`: a float of TensorFlow's usual type."""
    match call:
        case ast.Call(args=[ast.Constant(value=float())], keywords=[]):
            return script.name(call.func) == "tf.constant"
    return False


def _is_computed(script: Script, value: ast.expr, own: set[str], tensors: set[str]) -> bool:
    """Whether operators alone compute a value from numbers and fetched elements."""
    match value:
        case ast.BinOp(left=left, right=right):
            parts = (left, right)
            return all(_is_computed(script, part, own, tensors) for part in parts)
        case ast.UnaryOp(operand=operand):
            return _is_computed(script, operand, own, tensors)
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Name() | ast.Constant()):
            return name in tensors
        case ast.Constant():
            return True
        case ast.Name(id=name) if name in own:
            return True
        case ast.Name() | ast.Attribute():
            return script.kind(value) not in TENSOR_LIKE
    return False


def _is_number_use(script: Script, node: ast.Name, statements: list[ast.stmt]) -> bool:
    """Whether a number will do: it is computed with, made Python's, or collected to be stacked."""
    if script.statement_of(node) in statements:
        return True
    parent = script.parents[node]
    if not isinstance(parent, ast.Call):
        return False
    if script.name(parent.func) in ("float", "int"):
        return True
    is_filling = method_of(parent) in _FILLS and isinstance(parent.func, ast.Attribute)
    holder = parent.func.value if isinstance(parent.func, ast.Attribute) else None
    return is_filling and isinstance(holder, ast.Name) and _is_stacked(script, holder)


def _is_stacked(script: Script, holder: ast.Name) -> bool:
    """Whether a list is filled and then made one tensor, and nothing else."""
    uses = list(_reads(script, holder))
    stacked = False
    for use in uses:
        parent = script.parents[use]
        if isinstance(parent, ast.Call) and script.name(parent.func) in _STACKS:
            stacked = True
            continue
        call = script.parents[parent] if isinstance(parent, ast.Attribute) else None
        if not isinstance(call, ast.Call) or method_of(call) not in _FILLS:
            # After `out = tf.stack(out)` the name is a tensor of its own.
            later = [item.assigned for item in script.reaching(use)]
            if all(isinstance(value, ast.Call) for value in later) and later:
                continue
            return False
    return stacked


def _reads(script: Script, holder: ast.Name) -> Iterator[ast.Name]:
    scope = script.function_of(holder) or script.tree
    for node in inside(scope, ast.Name):
        if node.id == holder.id and not is_stored(node):
            yield node
