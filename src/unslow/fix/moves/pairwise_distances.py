"""Distances of all pairs of rows by a matrix product, without a tensor of all differences."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from unslow.fix.edit.blocks import put_above, removal, statement
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced, spelling
from unslow.fix.moves.shapes import calls_of, is_call, only_binding, reads
from unslow.syntax.nodes import COMPREHENSIONS, argument, dotted, inside, is_constant

_SUMS = ("tf.reduce_sum", "tf.math.reduce_sum")
_NORMS = ("tf.norm", "tf.linalg.norm")
_SQUARES = ("tf.square", "tf.math.square")
_DIFFERENCES = ("tf.subtract", "tf.math.subtract")
_SQUARED_DIFFERENCES = ("tf.math.squared_difference", "tf.squared_difference")
_NAMES = ("tf.reduce_sum", "tf.square", "tf.matmul", "tf.maximum", "tf.sqrt", "tf.newaxis")
_LAST_OF_THREE = (-1, 2)
_CODE = """\
{row_squares} = {reduce_sum}({square}({rows}), axis=-1)[:, {newaxis}]
{column_squares} = {reduce_sum}({square}({columns}), axis=-1)
{products} = {matmul}({rows}, {columns}, transpose_b=True)
"""


@dataclass
class _Pairs:
    """A reduction of the differences of all pairs of rows, and the statements on the way to it."""

    call: ast.Call
    rows: ast.expr | None = None  # one for each row of the result
    columns: ast.expr | None = None
    steps: list[ast.stmt] = field(default_factory=list)  # that bind what only the next one reads


def pairwise_distances(script: Script, line: int) -> Script:
    """`tf.reduce_sum(tf.square(a[:, None] - b[None]), -1)` becomes a sum with a `tf.matmul`.

    The line makes the differences of all pairs of rows of two matrices, or reduces them.
    """
    node = statement(script, line)
    found = next((pairs for pairs in _all_pairs(script, node) if _is_at(script, pairs, node)), None)
    if found is None:
        reason = "what is broadcast there is no difference that is squared and summed up"
        raise script.refuse(reason, node)
    rows, columns = dotted(found.rows), dotted(found.columns)
    if rows is None or columns is None:
        raise script.refuse("the two matrices of which the pairs are made have no names", node)
    imports = dict.fromkeys(edit for name in _NAMES for edit in spelling(script, name, node)[1])
    made, text = _distances(script, found.call, rows, columns)
    place = script.statement_of(found.call)
    inner = [each for each in script.ancestors(found.call) if script.within(each, place)]
    own = any(isinstance(each, (*COMPREHENSIONS, ast.Lambda)) for each in inner)
    script.refuse_if(own or hasattr(place, "body"), "it is computed in a larger expression", place)
    gone = [removal(script, [step]) for step in found.steps]
    above = put_above(script, place, *made)
    return script.edit([*imports, *gone, above, replaced(script, found.call, text)])


def _distances(script: Script, call: ast.Call, rows: str, columns: str) -> tuple[list[str], str]:
    """The statements in front of a reduction, and what takes its place."""
    known = {name.rpartition(".")[2]: spelling(script, name, call)[0] for name in _NAMES}
    words = {each: script.fresh(each) for each in ("row_squares", "column_squares", "products")}
    made = [row.format(rows=rows, columns=columns, **known, **words) for row in _CODE.splitlines()]
    # What rounds to less than nothing has no root.
    text = "{maximum}({row_squares} + {column_squares} - 2.0 * {products}, 0.0)"
    text = text.format(**known, **words)
    if is_call(script, call, *_NORMS):
        text = f"{known['sqrt']}({text})"
    return made, text


def _is_at(script: Script, pairs: _Pairs, node: ast.stmt) -> bool:
    return node in (*pairs.steps, script.statement_of(pairs.call))


def _all_pairs(script: Script, node: ast.stmt) -> Iterator[_Pairs]:
    """The reductions over all pairs in the function or module of a statement."""
    calls = list(inside(script.home(node), ast.Call))
    for call in calls_of(script, calls, *_SUMS, *_NORMS):
        pairs = _Pairs(call)
        value = argument(call, "input_tensor", 0) or argument(call, "tensor", 0)
        plain = {word.arg for word in call.keywords} <= {"input_tensor", "tensor", "axis"}
        if value is None or not plain or not _is_last_axis(call):
            continue
        is_norm = is_call(script, call, *_NORMS)
        if _finds(script, pairs, value, squared=is_norm):
            yield pairs


def _is_last_axis(call: ast.Call) -> bool:
    axis = argument(call, "axis", 1)
    return axis is not None and ast.unparse(axis) in map(str, _LAST_OF_THREE)


def _finds(script: Script, pairs: _Pairs, value: ast.expr, squared: bool) -> bool:
    """Follows a value to the difference that it is the square of."""
    match value:
        case ast.Name() if (made := _made_once(script, value)) is not None:
            pairs.steps.append(script.statement_of(made))
            return _finds(script, pairs, made, squared)
        case ast.Call(args=[inner]) if is_call(script, value, *_SQUARES) and not squared:
            return _finds(script, pairs, inner, squared=True)
        case ast.BinOp(left=inner, op=ast.Pow(), right=power) if not squared:
            is_two = isinstance(power, ast.Constant) and power.value in (2, 2.0)
            return is_two and _finds(script, pairs, inner, squared=True)
        case ast.Call(args=[left, right]) if is_call(script, value, *_SQUARED_DIFFERENCES):
            return not squared and _is_broadcast(script, pairs, left, right)
        case ast.Call(args=[left, right]) if is_call(script, value, *_DIFFERENCES):
            return squared and _is_broadcast(script, pairs, left, right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return squared and _is_broadcast(script, pairs, left, right)
    return False


def _made_once(script: Script, name: ast.Name) -> ast.expr | None:
    """What a name is assigned that only this place reads."""
    binding = only_binding(script, name)
    is_read_once = len(reads(script.home(name), name.id)) == 1
    is_local = binding is not None and script.home(binding.node) is script.home(name)
    return binding.assigned if binding is not None and is_local and is_read_once else None


def _is_broadcast(script: Script, pairs: _Pairs, left: ast.expr, right: ast.expr) -> bool:
    """Whether one side has a new axis behind its rows, and the other in front of them, or none."""
    sides = [_with_axis(script, side) for side in (left, right)]
    for (rows, axis), (columns, other) in (sides, sides[::-1]):
        if axis == 1 and other in (0, None):
            pairs.rows, pairs.columns = rows, columns
            return True
    return False


def _with_axis(script: Script, value: ast.expr) -> tuple[ast.expr, int | None]:
    """A matrix, and where it is given a new axis."""
    match value:
        case ast.Call(args=[matrix, *_]) if is_call(script, value, "tf.expand_dims"):
            axis = argument(value, "axis", 1)
            place = next((each for each in (0, 1) if is_constant(axis, each)), None)
            return (matrix, place) if place is not None else (value, None)
        case ast.Subscript(value=matrix, slice=index):
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            new = [place for place, part in enumerate(parts) if _is_new(script, part)]
            whole = [part for part in parts if ast.unparse(part) == ":"]
            if len(new) == 1 and len(whole) + 1 == len(parts):
                return matrix, new[0]
    return value, None


def _is_new(script: Script, part: ast.expr) -> bool:
    is_named = script.name(part) in ("tf.newaxis", "numpy.newaxis")
    return is_named or is_constant(part, None)
