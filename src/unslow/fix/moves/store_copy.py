"""Store a copy of a view, which would keep all of the array that it shows a part of."""

from __future__ import annotations

import ast

from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.fix.moves.container_uses import stored_value
from unslow.syntax.nodes import argument, inside, method_of, root_name, words
from unslow.syntax.uses import changed

_IN_PLACE = words("fill sort partition put itemset resize setfield byteswap")


def store_copy(script: Script, line: int, path: str) -> Script:
    """`rows.append(states[:, 0])` becomes `rows.append(states[:, 0].copy())`."""
    value = stored_value(script, line, path)
    if not isinstance(value, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        raise script.refuse(f"what `{path}` gets is not a plain name, part or call", value)
    owner = script.home(value)
    later = [node for node in inside(owner, ast.AST) if _line(node) > value.lineno]
    for array in _arrays(value):
        for node in later:
            reason = f"`{array}` is changed in place after it is stored"
            script.refuse_if(_changes(node, array), reason, node)
    return script.edit([replaced(script, value, f"{script.source(value)}.copy()")])


def _arrays(value: ast.expr) -> set[str]:
    """The names whose memory a view may show: of `first(states)[index]`, `states`."""
    match value:
        case ast.Name(id=name):
            return {name}
        case ast.Subscript(value=inner) | ast.Attribute(value=inner):
            return _arrays(inner)
        case ast.Call(func=function, args=args):
            holder = [function.value] if isinstance(function, ast.Attribute) else []
            return {name for each in (*holder, *args) for name in _arrays(each)}
    return set()


def _changes(node: ast.AST, array: str) -> bool:
    """Whether a node writes into the array of this name."""
    match node:
        case ast.Assign(targets=targets):
            return any(_is_part(target, array) for target in targets)
        case ast.AugAssign(target=target):
            return root_name(target) == array
        case ast.Call(func=ast.Attribute(value=holder)) if method_of(node) in _IN_PLACE:
            return root_name(holder) == array
        case ast.Call():
            out = argument(node, "out")
            return out is not None and root_name(out) == array
        case ast.Expr():
            return array in changed([node])
    return False


def _is_part(target: ast.expr, array: str) -> bool:
    return isinstance(target, ast.Subscript) and root_name(target) == array


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))
