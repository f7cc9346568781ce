"""Makes an iterator once in front of a loop instead of inside of it."""

from __future__ import annotations

import ast

from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replace_expression
from unslow.fix.moves.hoist import hoist_expression
from unslow.model import Fix, Safety


def iterator_once(script: Script, line: int, endless: bool, shuffled: bool) -> Fix:
    """`next(iter(data))` becomes `next(batches)`, with `batches` made before the loop."""
    node = script.call_at(line, "iter")
    if node is None or len(node.args) != 1 or script.name(node.func) != "iter":
        raise script.refuse(
            "the iterator is not made by a plain `iter(…)` on this line", script.now(line)
        )
    old = script.source(node)
    if not endless:
        data = script.source(node.args[0])
        simple = isinstance(node.args[0], ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        new = f"iter({data if simple else f'({data})'}.repeat())"
        script = replace_expression(script, line, old, new)
        old = new
    edited = hoist_expression(script, line, old, "batches")
    note = (
        "The steps go through all of the data in turn; before, each took a batch from the start of "
        "a fresh shuffle."
        if shuffled
        else "The steps go through all of the data in turn; before, each of them took the same "
        "first batch."
    )
    return Fix("make the iterator once", Safety.REVIEW, {script.path: edited.text}, note)
