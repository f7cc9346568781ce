"""The move that makes a statement of a loop run every n-th time only, by the loop's own counter if it has one."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.blocks import above, at_end, extent, indent, reindented, siblings, unit
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.moves.extract_function import path_out, read_by_others
from unslow.syntax.dataflow import live_after
from unslow.syntax.nodes import StatementLoop
from unslow.syntax.uses import jumps, uses


def guard(script: Script, line: int, every: int, last: int | None = None) -> Script:
    """Puts the statement at a line (or those from it to another) under `if step % every == 0`."""
    part = siblings(script, line, last or line)
    present = _period(script, part[0])
    if present == every:
        return script
    if present is not None:
        raise script.refuse(f"the statement already runs every {present} steps only", part[0])
    loops = script.loops_around(part[0])
    if not loops:
        raise script.refuse("the statement is not in a loop", part[0])
    _may_be_left_out(script, part)
    loop = loops[0]
    counter = _counter(script, loop)
    if counter is not None:
        return script.edit([_guarded(script, part, counter, every)])
    counter = script.fresh("step")
    if isinstance(loop, ast.For):
        return script.edit(
            [*_enumerated(script, loop, counter), _guarded(script, part, counter, every)]
        )
    return script.edit(_counted(script, loop, part, counter, every))


def _period(script: Script, node: ast.stmt) -> int | None:
    """The n of a statement that stands under `if … % n == 0` already."""
    parent = script.parents[node]
    if not isinstance(parent, ast.If) or node not in parent.body:
        return None
    test = parent.test
    if (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.Eq)
        and isinstance(test.left, ast.BinOp)
        and isinstance(test.left.op, ast.Mod)
        and isinstance(test.left.right, ast.Constant)
        and isinstance(test.left.right.value, int)
    ):
        return test.left.right.value
    return None


def _may_be_left_out(script: Script, part: Sequence[ast.stmt]) -> None:
    left = jumps(part)
    if left is not None:
        raise script.refuse("the statement steers the loop it is in", left)
    others = read_by_others(script, part, script.function_of(part[0]))
    needed = uses(part).writes & live_after(path_out(script, part), others)
    for name in sorted(needed):
        raise script.refuse(
            f"`{name}` is read afterwards, so it must be bound in every step", part[0]
        )


def _counter(script: Script, loop: StatementLoop) -> str | None:
    """The name that counts the iterations by one: the target of `range(…)` or the first of `enumerate(…)`."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return None
    source, given = script.name(loop.iter.func), loop.iter.args
    target = loop.target
    if source == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[0]
    elif (
        source != "range" or len(given) > 2 or any(isinstance(item, ast.Starred) for item in given)
    ):
        return None
    if (
        not isinstance(target, ast.Name)
        or target.id in uses(loop.body).writes | uses(loop.body).remote
    ):
        return None
    return target.id if target.id != "_" else None


def _guarded(
    script: Script, part: Sequence[ast.stmt], counter: str, every: int, tail: str = ""
) -> Splice:
    start, end = extent(script, part)
    margin, newline = indent(script, part[0]), script.lines.newline
    body = reindented(script, part, margin + unit(script, part[0]))
    text = f"{margin}if {counter} % {every} == 0:{newline}{body}{tail}"
    if not script.lines.text[start:end].endswith(("\n", "\r")):
        text = text.removesuffix(newline)
    return Splice(start, end, text)


def _enumerated(script: Script, loop: ast.For, counter: str) -> list[Splice]:
    target, source = script.source(loop.target), script.source(loop.iter)
    if isinstance(loop.target, ast.Tuple) and not target.startswith("("):
        target = f"({target})"
    if isinstance(loop.iter, ast.Tuple) and not source.startswith("("):
        source = f"({source})"
    return [
        Splice(*script.span(loop.target), f"{counter}, {target}"),
        Splice(*script.span(loop.iter), f"enumerate({source})"),
    ]


def _counted(
    script: Script, loop: StatementLoop, part: Sequence[ast.stmt], counter: str, every: int
) -> list[Splice]:
    """A counter of our own for loops that `enumerate` cannot help: it counts how often the statement is met."""
    newline = script.lines.newline
    start = above(script, loop)
    zero = at_end(script, start, f"{indent(script, loop)}{counter} = 0{newline}")
    step = f"{indent(script, part[0])}{counter} += 1{newline}"
    return [zero, _guarded(script, part, counter, every, tail=step)]
