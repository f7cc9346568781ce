"""Where a script uses a container: what fills it, and where its elements are read."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from unslow.fix.edit.blocks import statement
from unslow.fix.edit.script import Script
from unslow.fix.moves.shapes import call_by, is_call, names_in
from unslow.syntax.nodes import inside, is_stored, last_name, receiver_of

_SEQUENCES = ("list", "tuple", "reversed", "sorted", "enumerate", "zip")


def uses_of(script: Script, path: str) -> list[ast.expr]:
    """Every use of the name; of an attribute by its last part, whatever its holder is called."""
    wanted = parsed(path)
    if not isinstance(wanted, ast.Attribute | ast.Name):
        raise script.refuse(f"`{path}` is not a plain name")
    return [node for node in script.every(type(wanted)) if last_name(node) == last_name(wanted)]


def parsed(path: str) -> ast.expr:
    return ast.parse(path, mode="eval").body


def held_by_key(path: str) -> tuple[str, object] | None:
    """The dictionary and the key of `self.log['loss']`."""
    match parsed(path):
        case ast.Subscript(value=ast.Name() | ast.Attribute() as whole, slice=ast.Constant(key)):
            return ast.unparse(whole), key
    return None


def stored_value(script: Script, line: int, path: str) -> ast.expr:
    """What a container gets at a line: by `append`, by `+= [value]`, or at a key."""
    for method in ("append", "appendleft"):
        match filling(script, line, path, method):
            case ast.Call(args=[value], keywords=[]) if not isinstance(value, ast.Starred):
                return value
    node = statement(script, line)
    match node:
        case ast.Assign(targets=[ast.Subscript()], value=value):
            return value
        case ast.AugAssign(op=ast.Add(), value=ast.List(elts=[value])):
            return value
    raise script.refuse(f"`{path}` does not get one value here", node)


def filling(script: Script, line: int, path: str, method: str) -> ast.Call | None:
    """The call of a method at a line that fills a container, by the last part of its name."""
    calls = script.calls_at(line, method)
    if len(calls) < 2:
        return calls[0] if calls else None
    name = last_name(parsed(path))
    own = [call for call in calls if name and last_name(receiver_of(call)) == name]
    reason = f"this line fills several containers, and which is `{path}` is not known"
    script.refuse_if(len(own) != 1, reason, line)
    return own[0]


def elements_read(script: Script, path: str) -> Iterator[ast.expr]:
    """Where one element of a container is read: by its index or key, or in a loop over it."""
    held = held_by_key(path)
    for use in uses_of(script, held[0] if held is not None else path):
        parts = list(parts_read(script, use))
        if held is not None:  # the parts of the dictionary are lists themselves
            parts = [inner for part in parts for inner in parts_read(script, part)]
        yield from parts


def parts_read(script: Script, use: ast.expr) -> Iterator[ast.expr]:
    """The elements of a container that are read at a place."""
    parent = script.parents[use]
    match parent:
        case ast.Subscript(value=value) if value is use and not is_stored(parent):
            if isinstance(parent.slice, ast.Slice):
                yield from parts_read(script, parent)
            else:
                yield parent
        case ast.Attribute(attr="values" | "items" | "get") if call_by(script, parent) is not None:
            yield from parts_read(script, parent)
        case ast.Call(func=function) if function is use or is_call(script, parent, *_SEQUENCES):
            yield from parts_read(script, parent)
        case ast.For(target=target, iter=value, body=body) if value is use:
            yield from _named_in(target, body)
        case ast.comprehension(target=target, iter=value) if value is use:
            yield from _named_in(target, [script.parents[parent]])


def _named_in(target: ast.expr, code: Sequence[ast.AST]) -> Iterator[ast.expr]:
    names = names_in(target)
    yield from (node for node in inside(code, ast.Name) if node.id in names and not is_stored(node))


def fills(script: Script, use: ast.expr) -> bool:
    parent = script.parents[use]
    return isinstance(parent, ast.Attribute) and parent.attr in ("append", "clear")
