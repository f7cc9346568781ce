"""Moves what only reports on a step (prints, lists of losses, counters) behind it: the rest can be
compiled."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from unslow.fix.edit.blocks import at_end, extent, indent, reindented, removal
from unslow.fix.edit.script import Script
from unslow.fix.moves.graph_rules import Offence
from unslow.syntax.nodes import inside, is_stored, method_of, words
from unslow.syntax.python_types import PythonType, python_type
from unslow.syntax.uses import changed, overlapping, paths_read, uses

_REPORTING = words("print float int str round len format sum min max")
_METHODS = words("append extend add numpy item format write update tolist flush")
_READING_METHODS = words("numpy item tolist")
_KEPT = frozenset(PythonType) - {PythonType.PLAIN, PythonType.SEQUENCE}


def updates_metric(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and method_of(node.value) == "update_state"


def move_out(script: Script, found: Offence, run: Sequence[ast.stmt]) -> Script:
    """The statement that offends goes behind the run it stands in; raises the offence where that
    would not do."""
    node = _movable(run, found.node)
    if node is None or node is run[-1] or not _may_wait(script, node, run):
        raise script.refuse(found.reason, found.node)
    block, index = script.block(run[-1])
    while index + 1 < len(block) and updates_metric(block[index + 1]):
        index += 1  # these can be compiled along with the run
    end = extent(script, [block[index]])[1]
    text = reindented(script, [node], indent(script, run[-1]))
    return script.edit([removal(script, [node]), at_end(script, end, text)])


def _flat(run: Sequence[ast.stmt], node: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a run, those of a `with` that holds a node one by one."""
    for top in run:
        match top:
            case ast.With(body=body) if node in ast.walk(top):
                yield from body
            case _:
                yield top


def _movable(run: Sequence[ast.stmt], node: ast.AST) -> ast.stmt | None:
    """The statement of the run, or of a `with` in it, that holds a node."""
    return next((inner for inner in _flat(run, node) if node in ast.walk(inner)), None)


def _may_wait(script: Script, node: ast.stmt, run: Sequence[ast.stmt]) -> bool:
    """Whether a statement may run after the rest of its run."""
    flat = list(_flat(run, node))
    place = flat.index(node)
    own, later = uses([node]), uses(flat[place + 1 :])
    collides = own.writes & (later.reads | later.writes) or own.reads & later.writes
    needed = paths_read(flat[place + 1 :])
    stored = changed(_stores(node))
    if collides or overlapping(stored, needed) is not None:
        return False
    withs = [item for top in run if isinstance(top, ast.With) for item in top.items]
    made = uses(flat[:place]).writes - uses(withs).writes
    return all(_only_reports(script, part, made) for part in _simple(node))


def _stores(node: ast.stmt) -> Iterator[ast.expr]:
    """The attributes and items that a statement sets."""
    yield from filter(is_stored, (*inside(node, ast.Attribute), *inside(node, ast.Subscript)))


def _simple(node: ast.stmt) -> Iterator[ast.AST]:
    """A statement, or the parts of an `if` that holds some."""
    if not isinstance(node, ast.If):
        yield node
        return
    yield node.test
    for inner in (*node.body, *node.orelse):
        yield from _simple(inner)


def _only_reports(script: Script, node: ast.AST, made: set[str]) -> bool:
    """Whether code only shows, keeps or counts values that stay as they are: later is as good as
    now."""
    if not isinstance(node, ast.expr | ast.Expr | ast.Assign | ast.AugAssign):
        return False
    read = [name for name in inside(node, ast.Name) if not is_stored(name)]
    calls = all(_is_report(script, call) for call in inside(node, ast.Call))
    return calls and all(_stays(script, name, made) for name in read)


def _is_report(script: Script, node: ast.Call) -> bool:
    name = script.name(node.func)
    return name in _REPORTING or name.startswith("logging.") or method_of(node) in _METHODS


def _stays(script: Script, node: ast.Name, made: set[str]) -> bool:
    """Whether a name will mean the same behind the step: made in it, a plain value, or only told
    something."""
    if node.id in made or script.name(node) or python_type(script, node) in _KEPT:
        return True
    parent = script.parents[node]
    told = isinstance(parent, ast.Attribute) and parent.attr in _METHODS - _READING_METHODS
    return told or (isinstance(parent, ast.Attribute | ast.Subscript) and is_stored(parent))
