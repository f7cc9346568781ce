"""Numbers that a loop of the graph carries from turn to turn, as scalar tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.fix.moves.tensor_array import python_starts
from unslow.syntax.nodes import inside, words
from unslow.syntax.python_types import PythonType, python_type
from unslow.syntax.uses import uses

# They give one number if they are called with one argument; the first ones a real one.
_REDUCE_TO_REAL = words(
    "tf.reduce_mean tf.norm tf.nn.l2_loss tf.linalg.norm tf.linalg.global_norm tf.math.reduce_mean"
)
_REDUCE_TO_SCALAR = _REDUCE_TO_REAL | words(
    "tf.reduce_sum tf.reduce_max tf.reduce_min tf.math.reduce_sum tf.math.reduce_max"
    " tf.math.reduce_min tf.linalg.trace"
)


def require_scalar(script: Script, loop: ast.For, name: str, start: ast.expr) -> None:
    """Requires of a Python value that the loop carries that a scalar tensor can hold it.

    The loop of a graph makes a tensor of it, whose dtype and shape must be those of each turn.
    """
    number = start.value if isinstance(start, ast.Constant) else None
    if not isinstance(number, int | float) or isinstance(number, bool):
        reason = f"`{name}` starts as a Python value, which a loop of the graph would not keep"
        raise script.refuse(reason, loop)
    reason = f"`{name}` starts as a number, and may not be float32 later"
    script.refuse_if("float64" in script.text, reason, start)
    reducers = _REDUCE_TO_SCALAR if isinstance(number, float) else _REDUCE_TO_REAL
    for node in inside(loop.body, ast.stmt):
        for value in _written(node, name):
            only_python = not isinstance(number, float) and python_type(script, value) is not None
            if only_python or not _is_scalar(script, value, name, reducers):
                what = script.source(value)
                kind = "scalar" if isinstance(number, float) else "real scalar"
                reason = f"`{name}` starts as `{number}`, and `{what}` may be no {kind}"
                raise script.refuse(reason, value)


def real_starts(script: Script, loop: ast.For) -> Iterator[Splice]:
    """`0` as `0.0` where a loop carries it: a graph does not turn integers into real numbers."""
    block, index = script.block(loop)
    carried = uses(loop.body).writes
    for name, start in python_starts(block[:index]).items():
        if name in carried and isinstance(start, ast.Constant) and type(start.value) is int:
            yield replaced(script, start, f"{start.value}.0")


def _written(node: ast.stmt, name: str) -> Iterator[ast.expr]:
    """What a statement makes of a name; plain statements hold no others."""
    match node:
        case ast.AugAssign(target=ast.Name(id=written), value=value) if written == name:
            yield value
        case ast.Assign(targets=targets, value=value) if name in uses(targets).writes:
            yield value
        case ast.AnnAssign(target=ast.Name(id=written), value=ast.expr() as value):
            if written == name:
                yield value


def _is_scalar(
    script: Script, node: ast.expr | None, name: str, reducers: frozenset[str], depth: int = 5
) -> bool:
    """Whether a value is surely one number, as a tensor made by some functions or Python's."""
    if depth == 0:
        return False

    def are_scalars(values: Iterable[ast.expr | None]) -> bool:
        found = list(values)
        judged = [_is_scalar(script, value, name, reducers, depth - 1) for value in found]
        return bool(found) and all(judged)

    match node:
        case ast.Constant(value=float() | int()):
            return True
        case ast.Name(id=read) if read == name:
            return True
        case ast.UnaryOp(operand=operand):
            return are_scalars([operand])
        case ast.BinOp(left=left, right=right):
            return are_scalars([left, right])
        case ast.Call(func=called) if script.name(called) in reducers:
            return not _reduces_some_axes(node)
        case ast.Call():
            function = script.own_function(node)
            return function is not None and are_scalars(script.returned(function))
        case ast.Name() | ast.Attribute():
            number = python_type(script, node) in (PythonType.FLOAT, PythonType.INT)
            return number or are_scalars(script.possible_values(node))
    return False


def _reduces_some_axes(call: ast.Call) -> bool:
    return len(call.args) != 1 or bool(call.keywords)
