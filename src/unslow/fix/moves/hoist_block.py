"""Takes neighbouring statements out of their loop together, where all of them give the same in every iteration."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.blocks import above, indent, reindented, removal, statement
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.moves.hoist import dependence
from unslow.syntax.dataflow import flow
from unslow.syntax.nodes import StatementLoop
from unslow.syntax.uses import jumps, uses


def block_once(script: Script, lines: Sequence[int]) -> Script:
    """The statements from the first of some lines to the last, out of the loop that they stand directly in."""
    present = [line for line in sorted(lines) if script.statement_at(line) is not None]
    if not present:
        return script
    node = statement(script, present[0])
    loops = script.loops_around(node)
    if not loops or script.parents[node] is not loops[0]:
        raise script.refuse("the statement is not directly in a loop", node)
    loop = loops[0]
    block, start = script.block(node)
    last = max(
        block.index(each)
        for each in block
        if any(each is statement(script, line) for line in present)
    )
    part = block[start : last + 1]
    _may_leave(script, loop, part)
    place = above(script, loop)
    text = reindented(script, part, indent(script, loop))
    return script.edit([Splice(place, place, text), removal(script, part)])


def _may_leave(script: Script, loop: StatementLoop, part: Sequence[ast.stmt]) -> None:
    if jumps(part) is not None or not all(
        isinstance(node, ast.Assign | ast.AnnAssign) for node in part
    ):
        raise script.refuse("the statements do more than make things", part[0])
    name = dependence(script, loop, part)
    inner = flow(part)
    if name is not None or inner.exposed & uses(part).writes:
        raise script.refuse(
            f"it depends on `{name or min(inner.exposed & uses(part).writes)}`, which changes",
            part[0],
        )
    rest = [node for node in loop.body if node not in part]
    bound = uses(part).writes
    for other in sorted(bound & (uses(rest).writes | uses(rest).remote)):
        raise script.refuse(f"`{other}` is bound elsewhere in the loop too", part[0])
    before = loop.body[: loop.body.index(part[0])]
    header = [loop.test if isinstance(loop, ast.While) else loop.iter]
    for other in sorted(bound & (flow(before).exposed | uses(header).reads)):
        raise script.refuse(f"`{other}` is read in the loop before this line", part[0])
