"""Moves what only tells about a step (prints, lists of losses, counters) behind it: the rest can be compiled."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from unslow.fix.edit.blocks import at_end, extent, indent, reindented, removal
from unslow.fix.edit.script import Script
from unslow.fix.moves.graph_rules import Offence
from unslow.syntax.nodes import last_name
from unslow.syntax.python_types import PythonType, python_type
from unslow.syntax.uses import overlap, paths_read, uses

_TELLING = frozenset(
    f"{name}"
    for name in ("print", "float", "int", "str", "round", "len", "format", "sum", "min", "max")
)
_METHODS = frozenset(
    {"append", "extend", "add", "numpy", "item", "format", "write", "update", "tolist", "flush"}
)


_KEPT = frozenset(PythonType) - {PythonType.PLAIN, PythonType.SEQUENCE}


def updates_metric(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and last_name(call.func) == "update_state"


def move_out(script: Script, found: Offence, run: Sequence[ast.stmt]) -> Script:
    """The statement that offends goes behind the run it stands in; raises the offence where that would not do."""
    refusal = script.refuse(found.reason, found.node)
    node = _movable(run, found.node)
    if node is None or node is run[-1] or not _may_wait(script, node, run):
        raise refusal
    block, index = script.block(run[-1])
    while index + 1 < len(block) and updates_metric(block[index + 1]):
        index += 1  # these can be compiled along with the run
    end = extent(script, [block[index]])[1]
    text = reindented(script, [node], indent(script, run[-1]))
    return script.edit([removal(script, [node]), at_end(script, end, text)])


def _movable(run: Sequence[ast.stmt], node: ast.AST) -> ast.stmt | None:
    """The statement of the run, or of a `with` in it, that holds a node."""
    for top in run:
        if isinstance(top, ast.With):
            found = next((inner for inner in top.body if node in ast.walk(inner)), None)
            if found is not None:
                return found
        elif node in ast.walk(top):
            return top
    return None


def _around(run: Sequence[ast.stmt], node: ast.stmt) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The statements of the run before and after one of its own, or one inside a `with` of it."""
    flat: list[ast.stmt] = []
    for top in run:
        flat += top.body if isinstance(top, ast.With) and node in top.body else [top]
    place = flat.index(node)
    return flat[:place], flat[place + 1 :]


def _may_wait(script: Script, node: ast.stmt, run: Sequence[ast.stmt]) -> bool:
    before, after = _around(run, node)
    own, later = uses([node]), uses(after)
    if own.writes & (later.reads | later.writes) or own.reads & later.writes:
        return False
    needed = paths_read(after)
    if any(overlap(path, other) for path in _set_paths(node) for other in needed):
        return False
    withs = {
        name
        for top in run
        if isinstance(top, ast.With)
        for item in top.items
        for name in uses([item]).writes
    }
    return all(_only_tells(script, inner, uses(before).writes - withs) for inner in _simple(node))


def _set_paths(node: ast.stmt) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute | ast.Subscript) and not isinstance(inner.ctx, ast.Load):
            yield from paths_read([inner if isinstance(inner, ast.Attribute) else inner.value])


def _simple(node: ast.stmt) -> Iterator[ast.AST]:
    """A statement, or the parts of an `if` that holds some."""
    if isinstance(node, ast.If):
        yield node.test
        for inner in (*node.body, *node.orelse):
            yield from _simple(inner)
    else:
        yield node


def _only_tells(script: Script, node: ast.AST, made: set[str]) -> bool:
    """Whether code only shows, keeps or counts values that stay as they are: later is as good as now."""
    if not isinstance(node, ast.expr | ast.Expr | ast.Assign | ast.AugAssign):
        return False
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and not _telling_call(script, inner):
            return False
        if (
            isinstance(inner, ast.Name)
            and isinstance(inner.ctx, ast.Load)
            and not _stays(script, inner, made)
        ):
            return False
    return True


def _telling_call(script: Script, node: ast.Call) -> bool:
    name = script.name(node.func)
    method = isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS
    return name in _TELLING or name.startswith("logging.") or method


def _stays(script: Script, node: ast.Name, made: set[str]) -> bool:
    """Whether a name will mean the same behind the step: made in it, a plain value, or only told something."""
    if node.id in made or bool(script.name(node)) or python_type(script, node) in _KEPT:
        return True
    parent = script.parents[node]
    receives = isinstance(parent, ast.Attribute) and (
        not isinstance(parent.ctx, ast.Load)
        or parent.attr in _METHODS - {"numpy", "item", "tolist"}
    )
    return receives or (isinstance(parent, ast.Subscript) and not isinstance(parent.ctx, ast.Load))
