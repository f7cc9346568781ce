"""The moves on a list that only grows: numbers instead of scalar tensors in it, or the latest few only."""

from __future__ import annotations

import ast

from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced, spelled

_LATEST = 100


def keep_numbers(script: Script, line: int, path: str) -> Script:
    """`losses.append(loss)` becomes `losses.append(float(loss))`."""
    node = _append(script, line, path)
    value = node.args[0]
    if isinstance(value, ast.Call) and script.name(value.func) == "float":
        return script
    for use in _uses(script, path):
        taken = _taken_from(script, use)
        if any(isinstance(part, ast.Attribute) for part in taken):
            raise script.refuse(f"what is in `{path}` is used as tensors here", use)
    return script.edit([replaced(script, value, f"float({script.source(value)})")])


def keep_latest(script: Script, line: int, path: str) -> Script:
    """`history = []` becomes `history = collections.deque(maxlen=100)`, where nothing needs more of a list."""
    _append(script, line, path)
    made = [use for use in _uses(script, path) if isinstance(getattr(use, "ctx", None), ast.Store)]
    if len(made) != 1:
        raise script.refuse(f"`{path}` is not made in one place", made[0] if made else line)
    assigned = script.parents[made[0]]
    value = getattr(assigned, "value", None)
    if not isinstance(assigned, ast.Assign | ast.AnnAssign) or not _is_empty_list(script, value):
        raise script.refuse(f"`{path}` does not begin as an empty list", assigned)
    for use in _uses(script, path):
        if use is not made[0] and not _as_a_deque(script, use):
            raise script.refuse(f"`{path}` is used as a whole here", use)
    script, name = spelled(script, "collections.deque", assigned)
    again = [use for use in _uses(script, path) if isinstance(getattr(use, "ctx", None), ast.Store)]
    holder = script.parents[again[0]]
    assert isinstance(holder, ast.Assign | ast.AnnAssign) and holder.value is not None
    return script.edit([replaced(script, holder.value, f"{name}(maxlen={_LATEST})")])


def _append(script: Script, line: int, path: str) -> ast.Call:
    node = script.call_at(line, "append")
    if node is None or len(node.args) != 1 or isinstance(node.args[0], ast.Starred):
        raise script.refuse(f"`{path}` does not grow by a plain append", line)
    return node


def _uses(script: Script, path: str) -> list[ast.expr]:
    """Every place of the name; of an attribute by its last part, as its holder has another name elsewhere."""
    wanted = ast.parse(path, mode="eval").body
    if isinstance(wanted, ast.Attribute):
        return [
            node
            for node in script.nodes
            if isinstance(node, ast.Attribute) and node.attr == wanted.attr
        ]
    if isinstance(wanted, ast.Name):
        return [
            node for node in script.nodes if isinstance(node, ast.Name) and node.id == wanted.id
        ]
    raise script.refuse(f"`{path}` is not a plain name")


def _is_empty_list(script: Script, value: ast.AST | None) -> bool:
    if isinstance(value, ast.List):
        return not value.elts
    return isinstance(value, ast.Call) and script.name(value.func) == "list" and not value.args


def _as_a_deque(script: Script, use: ast.expr) -> bool:
    """Whether a place does only what a deque does too: append, count, walk, take the last one."""
    parent = script.parents[use]
    if isinstance(parent, ast.Attribute):
        return parent.attr in ("append", "clear", "extend")
    if isinstance(parent, ast.Call):
        return script.name(parent.func) in ("len", "sum", "bool")
    if isinstance(parent, ast.Subscript):
        return parent.value is use and isinstance(parent.slice, ast.Constant | ast.UnaryOp)
    return isinstance(parent, ast.For | ast.comprehension) and parent.iter is use


def _taken_from(script: Script, use: ast.expr) -> list[ast.AST]:
    """Attributes that are asked of the elements: `.numpy()` in a loop over them, or of one by its index."""
    parent = script.parents[use]
    if isinstance(parent, ast.Subscript) and parent.value is use:
        above = script.parents[parent]
        return [above] if isinstance(above, ast.Attribute) else []
    if (
        isinstance(parent, ast.For | ast.comprehension)
        and parent.iter is use
        and isinstance(parent.target, ast.Name)
    ):
        name, around = (
            parent.target.id,
            parent if isinstance(parent, ast.For) else script.parents[parent],
        )
        return [
            node
            for node in ast.walk(around)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == name
        ]
    return []
