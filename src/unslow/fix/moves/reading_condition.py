"""Values that only the body of one `if` reads: what makes them can stand there as well."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.blocks import above, extent, indent, reindented, removal, siblings
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.moves.extract_function import read_afterwards
from unslow.syntax.nodes import inside, is_stored
from unslow.syntax.uses import jumps, uses


def only_reader(script: Script, statement: ast.stmt, reads: Sequence[ast.Name]) -> ast.If | None:
    """The one `if` after a statement whose body holds all reads."""
    block, index = script.block(statement)
    later = [node for node in block[index + 1 :] if isinstance(node, ast.If)]
    readers = [node for node in later if any(script.within(read, node) for read in reads)]
    if len(readers) != 1:
        return None
    body = readers[0].body
    in_body = all(any(script.within(read, node) for node in body) for read in reads)
    return readers[0] if in_body else None


def under_reader(script: Script, line: int) -> Script | None:
    """The statement at a line, moved under the `if … % n` that alone reads what it binds.

    None where there is no such `if` right behind it.
    """
    part = siblings(script, line, line)
    bound = uses(part).writes & read_afterwards(script, part)
    if not bound or not script.loops_around(part[0]) or jumps(part) is not None:
        return None
    scope = script.function_of(part[0]) or script.tree
    own = set(inside(part, ast.Name))
    named = [node for node in inside(scope, ast.Name) if node.id in bound and node not in own]
    if any(is_stored(node) for node in named):
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
