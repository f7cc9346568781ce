"""Reduces a value over all workers only in the steps that need it."""

from __future__ import annotations

import ast

from unslow.fix.edit.blocks import statement
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import insert_before, replaced
from unslow.fix.moves.reading_condition import under_reader
from unslow.fix.moves.run_every_n import guard
from unslow.syntax.nodes import argument, inside


def reduce_rarely(script: Script, line: int, every: int) -> Script:
    """`loss = strategy.reduce(op, step(), axis=None)` reduces in every n-th step, or under the
    `if` that alone reads it; the step itself is made in every one.

    All workers must reduce in the same steps: a condition may ask for the number of the step only.
    """
    call = script.call_at(line, "reduce")
    if call is None:
        raise script.refuse("there is no call of `reduce` on the line", line)
    value = argument(call, "value", 1)
    if value is None:
        raise script.refuse("what is reduced is not written out", call)
    if not isinstance(value, ast.Name):
        name = script.fresh("per_replica")
        made = f"{name} = {script.source(value)}\n"
        script = insert_before(script.edit([replaced(script, value, name)]), line, made)
    moved = under_reader(script, line)
    if moved is None:
        return guard(script, line, every)
    block, index = script.block(statement(script, line))
    reader = block[index + 1]  # where `under_reader` put it
    if not isinstance(reader, ast.If) or not _asks_for_step_only(reader.test):
        raise script.refuse("the condition may differ between workers", reader)
    return moved


def _asks_for_step_only(test: ast.expr) -> bool:
    """`step % 100 == 0`, which is the same on all workers."""
    match test:
        case ast.Compare(left=ast.BinOp(left=ast.Name(), op=ast.Mod()), comparators=[_]):
            return not any(inside(test, ast.Call))
    return False
