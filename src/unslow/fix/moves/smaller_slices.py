"""Let a loop over slices of rows take fewer rows at once."""

from __future__ import annotations

import ast

from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.syntax.literals import Literal
from unslow.syntax.nodes import COMPREHENSIONS, Loop, inside

_NO_SLICES = "its rows are not taken in slices by a loop over `range(0, rows, size)`"


def smaller_slices(script: Script, line: int, rows: int) -> Script:
    """`for i in range(0, len(x), 1024): f(x[i : i + 1024])` takes `rows` rows in each turn.

    A size that has a name is changed where its number is written.
    """
    statement = script.statement_at(line)
    calls = inside(statement, ast.Call) if statement is not None else ()
    around = [loop for call in calls for loop in script.loops(call)]
    sizes = [size for loop in around for size in _size_of_slices(loop)]
    if not sizes:
        raise script.refuse(_NO_SLICES, line)
    is_one = len({ast.dump(size) for size in sizes}) == 1
    script.refuse_if(not is_one, "loops over slices of different sizes are around it", line)
    if isinstance(sizes[0], ast.Constant):
        return _written_out(script, sizes, rows)
    return script.with_value(sizes[0], lambda literal: _fewer(literal, rows))


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
