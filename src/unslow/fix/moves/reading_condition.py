"""Values that only the body of one `if` reads: what makes them can stand there as well."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.blocks import above, extent, indent, reindented, removal, statement
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.moves.extract_function import read_afterwards
from unslow.fix.moves.shapes import only
from unslow.syntax.nodes import inside, is_stored, of_type
from unslow.syntax.uses import jumps, uses


def only_reader(script: Script, statement: ast.stmt, reads: Sequence[ast.Name]) -> ast.If | None:
    """The one `if` after a statement whose body holds all reads."""
    block, index = script.block(statement)
    later = of_type(block[index + 1 :], ast.If)
    readers = [node for node in later if any(script.within(read, node) for read in reads)]
    reader = only(readers)
    in_body = set(inside(reader.body, ast.Name)) if reader is not None else set[ast.Name]()
    return reader if in_body.issuperset(reads) else None


def under_reader(script: Script, line: int) -> Script | None:
    """The statement at a line, moved under the `if … % n` that alone reads what it binds.

    None where there is no such `if` right behind it.
    """
    part = [statement(script, line)]
    bound = uses(part).writes & read_afterwards(script, part)
    if not bound or not script.loops_around(part[0]) or jumps(part) is not None:
        return None
    own = set(inside(part, ast.Name))
    homes = {script.owner(node) for node in own if node.id in bound and is_stored(node)}
    elsewhere = set(inside(script.home(part[0]), ast.Name)) - own
    named = [node for node in elsewhere if node.id in bound and script.owner(node) in homes]
    if any(map(is_stored, named)):
        return None
    reader = only_reader(script, part[-1], named)
    if reader is None or not _is_periodic(reader):
        return None
    block, index = script.block(part[-1])
    if block.index(reader) != index + 1:
        return None
    extent(script, [reader.body[0]])  # raises where the body shares the line of the `if`
    place = above(script, reader.body[0])
    text = reindented(script, part, indent(script, reader.body[0]))
    return script.edit([removal(script, part), Splice(place, place, text)])


def _is_periodic(node: ast.If) -> bool:
    """`if step % 100 == 0:`"""
    return any(isinstance(part.op, ast.Mod) for part in inside(node.test, ast.BinOp))
