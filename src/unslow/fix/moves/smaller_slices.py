"""Let a loop over slices of rows take fewer rows at once."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.syntax.literals import Literal
from unslow.syntax.nodes import (
    COMPREHENSIONS,
    Loop,
    dotted,
    inside,
    is_stored,
    last_name,
    method_of,
    receiver_of,
    words,
)

_JOINS = words("concatenate concat vstack hstack extend chain")
_TRAINING = words("apply_gradients minimize train_on_batch train_step fit GradientTape")
_NO_SLICES = "its rows are not taken in slices by a loop over `range(0, rows, size)`"


def smaller_slices(script: Script, line: int, rows: int) -> Script:
    """`for i in range(0, len(x), 1024): f(x[i : i + 1024])` takes `rows` rows in each turn.

    A size that has a name is changed where its number is written.
    """
    around = _loops(script, line)
    sizes = [size for loop in around for size in _size_of_slices(loop)]
    if not sizes:
        raise script.refuse(_NO_SLICES, line)
    is_one = len({ast.dump(size) for size in sizes}) == 1
    script.refuse_if(not is_one, "loops over slices of different sizes are around it", line)
    _require_only_slices(script, around, sizes)
    if isinstance(sizes[0], ast.Constant):
        return _written_out(script, sizes, rows)
    return script.with_value(sizes[0], lambda literal: _fewer(literal, rows))


def keeps_rows(script: Script, line: int) -> bool:
    """Whether all that becomes of slices is put together again, row by row."""
    for loop in _loops(script, line):
        if any(inside(loop, ast.AugAssign)):
            return False
        if isinstance(loop, COMPREHENSIONS):
            taken = script.parents[loop]
        else:
            filled = [call for call in inside(loop, ast.Call) if method_of(call) == "append"]
            names = {dotted(receiver_of(call)) for call in filled}
            reads = [node for node in script.every(ast.Name) if node.id in names]
            outside = [node for node in reads if not is_stored(node)]
            outside = [node for node in outside if not script.within(node, loop)]
            if not all(last_name(_function(script.parents[node])) in _JOINS for node in outside):
                return False
            continue
        if last_name(_function(taken)) not in _JOINS:
            return False
    return True


def _function(node: ast.AST) -> ast.expr | None:
    return node.func if isinstance(node, ast.Call) else None


def _loops(script: Script, line: int) -> list[Loop]:
    statement = script.statement_at(line)
    calls = inside(statement, ast.Call) if statement is not None else ()
    return [loop for call in calls for loop in script.loops(call)]


def _require_only_slices(script: Script, loops: Sequence[Loop], sizes: Sequence[ast.expr]) -> None:
    """Raises where the size means something else as well, or the slices are what is trained on."""
    others = [node for node in _like(script, loops, sizes[0]) if node not in sizes]
    if others:
        what = script.source(sizes[0])
        raise script.refuse(f"`{what}` is used for more than these slices", others[0])
    for call in [call for loop in loops for call in inside(loop, ast.Call)]:
        function = script.own_function(call)
        inner = [call, *(inside(function, ast.Call) if function is not None else ())]
        trains = any(last_name(each.func) in _TRAINING for each in inner)
        script.refuse_if(trains, "the slices are the batches of a training", call)


def _like(script: Script, loops: Sequence[Loop], size: ast.expr) -> list[ast.expr]:
    """Where a size is read: its number in the loops, or its name anywhere."""
    if isinstance(size, ast.Constant):
        numbers = [node for loop in loops for node in inside(loop, ast.Constant)]
        return [node for node in numbers if node.value == size.value]
    named = [node for node in script.every(type(size)) if last_name(node) == last_name(size)]
    return [node for node in named if not is_stored(node)]


def _size_of_slices(loop: Loop) -> list[ast.expr]:
    """The places where a loop over `range` says how many rows its slices have."""
    generator = loop.generators[0] if isinstance(loop, COMPREHENSIONS) else loop
    match generator:
        case (
            ast.For(
                target=ast.Name(id=name),
                iter=ast.Call(func=ast.Name(id="range"), args=[_, _, size], keywords=[]),
            )
            | ast.comprehension(
                target=ast.Name(id=name),
                iter=ast.Call(func=ast.Name(id="range"), args=[_, _, size], keywords=[]),
            )
        ):
            slices = [each for each in inside(loop, ast.Slice) if each.step is None]
            ends = [end for each in slices if (end := _added(each, name)) is not None]
            alike = [end for end in ends if ast.dump(end) == ast.dump(size)]
            return [size, *alike] if alike and len(alike) == len(ends) else []
    return []


def _added(rows: ast.Slice, name: str) -> ast.expr | None:
    """The `n` of `i : i + n`."""
    match rows:
        case ast.Slice(
            lower=ast.Name(id=start), upper=ast.BinOp(left=first, op=ast.Add(), right=second)
        ) if start == name:
            ends = [(first, second), (second, first)]
            sizes = [size for at, size in ends if isinstance(at, ast.Name) and at.id == name]
            return sizes[0] if sizes else None
    return None


def _written_out(script: Script, sizes: list[ast.expr], rows: int) -> Script:
    unique = {script.span(size): size for size in sizes}
    return script.edit([replaced(script, size, str(rows)) for size in unique.values()])


def _fewer(literal: Literal[Script], rows: int) -> str:
    is_number = isinstance(literal.value, int) and literal.value > rows
    what = literal.source.source(literal.node)
    literal.source.refuse_if(not is_number, f"the slices have `{what}` rows", literal.node)
    return str(rows)
