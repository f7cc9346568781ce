"""Bound a list that only grows: keep numbers instead of tensors, or the latest items only."""

from __future__ import annotations

import ast

from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced, spelled
from unslow.syntax.nodes import inside, is_stored, last_name, words

_LATEST = 100  # entries: enough for a moving average; a judgement
_DEQUE_METHODS = words("append clear extend")
_DEQUE_FUNCTIONS = words("len sum bool")


def keep_numbers(script: Script, line: int, path: str) -> Script:
    """`losses.append(loss)` becomes `losses.append(float(loss))`."""
    value = _append(script, line, path).args[0]
    if isinstance(value, ast.Call) and script.name(value.func) == "float":
        return script
    for use in _uses(script, path):
        if _asks_for_tensors(script, use):
            raise script.refuse(f"what is in `{path}` is used as tensors here", use)
    return script.edit([replaced(script, value, f"float({script.source(value)})")])


def keep_latest(script: Script, line: int, path: str) -> Script:
    """`history = []` becomes `history = collections.deque(maxlen=100)`."""
    _append(script, line, path)
    made = _empty_list(script, line, path)
    for use in _uses(script, path):
        if not is_stored(use) and not _fits_a_deque(script, use):
            raise script.refuse(f"`{path}` is used as a whole here", use)
    script, name = spelled(script, "collections.deque", made)
    value = _empty_list(script, line, path)  # an import may have moved it
    return script.edit([replaced(script, value, f"{name}(maxlen={_LATEST})")])


def _append(script: Script, line: int, path: str) -> ast.Call:
    match script.call_at(line, "append"):
        case ast.Call(args=[value], keywords=[]) as call if not isinstance(value, ast.Starred):
            return call
    raise script.refuse(f"`{path}` does not grow by a plain append", line)


def _empty_list(script: Script, line: int, path: str) -> ast.expr:
    """The empty list that a container begins as."""
    made = [use for use in _uses(script, path) if is_stored(use)]
    if len(made) != 1:
        raise script.refuse(f"`{path}` is not made in one place", made[0] if made else line)
    owner = script.parents[made[0]]
    match owner:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            if _is_empty_list(script, value):
                return value
    raise script.refuse(f"`{path}` does not begin as an empty list", owner)


def _is_empty_list(script: Script, value: ast.expr) -> bool:
    match value:
        case ast.List(elts=[]):
            return True
        case ast.Call(func=function, args=[]):
            return script.name(function) == "list"
    return False


def _uses(script: Script, path: str) -> list[ast.expr]:
    """Every use of the name; of an attribute by its last part, whatever its holder is called."""
    wanted = ast.parse(path, mode="eval").body
    if not isinstance(wanted, ast.Attribute | ast.Name):
        raise script.refuse(f"`{path}` is not a plain name")
    return [node for node in script.every(type(wanted)) if last_name(node) == last_name(wanted)]


def _fits_a_deque(script: Script, use: ast.expr) -> bool:
    """Whether a place does only what a deque does too: append, count, walk, take the last one."""
    match script.parents[use]:
        case ast.Attribute(attr=method):
            return method in _DEQUE_METHODS
        case ast.Call(func=function):
            return script.name(function) in _DEQUE_FUNCTIONS
        case ast.Subscript(value=value, slice=ast.Constant() | ast.UnaryOp()):
            return value is use
        case ast.For(iter=value) | ast.comprehension(iter=value):
            return value is use
    return False


def _asks_for_tensors(script: Script, use: ast.expr) -> bool:
    """Whether attributes of the elements are read, in a loop or by an index."""
    match script.parents[use]:
        case ast.Subscript(value=value) as item if value is use:
            return isinstance(script.parents[item], ast.Attribute)
        case ast.For(target=ast.Name(id=name)) as loop:
            return _has_attributes(loop, name)
        case ast.comprehension(target=ast.Name(id=name)) as part:
            return _has_attributes(script.parents[part], name)
    return False


def _has_attributes(code: ast.AST, name: str) -> bool:
    holders = [node.value for node in inside(code, ast.Attribute)]
    return any(isinstance(holder, ast.Name) and holder.id == name for holder in holders)
