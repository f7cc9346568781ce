"""The move that converts fed data once, in front of the loop, instead of every batch of it."""

from __future__ import annotations

import ast

from unslow.fix.edit.blocks import above, indent
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import spelled
from unslow.fix.moves.call_arguments import argument
from unslow.fix.moves.hoist import dependence
from unslow.syntax.nodes import StatementLoop, dotted


def converted_once(script: Script, line: int, position: int, dtype: str, order: bool) -> Script:
    """Feeds from an array that is converted before the loop: `{x: rows[i:j]}` becomes `{x: rows_float32[i:j]}`."""
    value = _source(script, _fed(script, line, position))
    base = value.value if isinstance(value, ast.Subscript) else value
    path = dotted(base)
    if path is None:
        raise script.refuse("what is fed is computed in every step", value)
    if path.rpartition(".")[2].endswith(("_ordered", f"_{dtype}")):
        return script  # converted before
    loop = _outermost(script, base)
    script, numpy = spelled(script, "numpy", loop)
    value = _source(script, _fed(script, line, position))
    base = value.value if isinstance(value, ast.Subscript) else value
    loop = _outermost(script, base)
    name = script.fresh(f"{path.rpartition('.')[2].lstrip('_')}_{'ordered' if order else dtype}")
    made = (
        f"{numpy}.ascontiguousarray({path})"
        if order
        else f"{numpy}.asarray({path}, dtype={numpy}.{dtype})"
    )
    at = above(script, loop)
    row = f"{indent(script, loop)}{name} = {made}{script.lines.newline}"
    start, end = script.span(base)
    return script.edit([Splice(at, at, row), Splice(start, end, name)])


def _fed(script: Script, line: int, position: int) -> ast.expr:
    """The expression that a run is fed with, by its position in the dictionary."""
    call = script.call_at(line, "run") or script.call_at(line, "eval")
    if call is None:
        raise CannotEdit(f"no run of a session is on line {line}", line)
    feed = argument(script, call, "feed_dict") or argument(script, call, 1 if _is_run(call) else 0)
    if isinstance(feed, ast.Name):
        feed = _assigned(script, feed)
    if not isinstance(feed, ast.Dict) or position >= len(feed.values) or None in feed.keys:
        raise script.refuse("the feed is not a dictionary that is written out", call)
    return feed.values[position]


def _is_run(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "run"


def _source(script: Script, value: ast.expr) -> ast.expr:
    """Where a fed name gets its value in the loop: `batch = rows[i:j]` leads to `rows[i:j]`."""
    if isinstance(value, ast.Name):
        inner = _assigned(script, value, only_in_loop=True)
        if inner is not None:
            return inner
    return value


def _assigned(script: Script, name: ast.Name, only_in_loop: bool = False) -> ast.expr | None:
    """The one expression that is assigned to a name before it is read, in the same block or around it."""
    bindings = script.bindings(name.id, name)
    if len(bindings) != 1 or bindings[0].assigned is None:
        if only_in_loop and not any(script.loops_around(binding.node) for binding in bindings):
            return None
        raise script.refuse(f"`{name.id}` gets its value in more than one way", name)
    value = bindings[0].assigned
    if only_in_loop and not script.loops_around(value):
        return None
    reads = [
        node
        for node in ast.walk(script.tree)
        if isinstance(node, ast.Name) and node.id == name.id and isinstance(node.ctx, ast.Load)
    ]
    if only_in_loop and any(not isinstance(script.parents[node], ast.Dict) for node in reads):
        raise script.refuse(f"`{name.id}` is used for more than feeding", name)
    return value


def _outermost(script: Script, base: ast.expr) -> StatementLoop:
    """The outermost loop in which the data stays the same object; raises where it changes even in the innermost."""
    target: StatementLoop | None = None
    for loop in script.loops_around(base):
        name = dependence(script, loop, [base])
        if name is not None:
            if target is None:
                raise script.refuse(f"`{name}` changes in the loop", base)
            break
        target = loop
    if target is None:
        raise script.refuse("what is fed is not in a loop of this function", base)
    return target
