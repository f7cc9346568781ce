"""Keep what a graph loop collects in a `tf.TensorArray` instead of a list."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.syntax.nodes import inside, is_stored, last_name, words
from unslow.syntax.uses import uses

# What gives back another type than it is given: the type of the array would be guessed wrong.
_OTHER_TYPE = words(
    "cast argmax argmin shape size equal not_equal less greater less_equal greater_equal where"
    " reduce_any reduce_all logical_and logical_or logical_not one_hot range bitcast complex"
    " is_finite is_nan top_k"
)


@dataclass(frozen=True)
class Collection:
    """`name = []` before a loop, `name.append(value)` in it, `tf.stack(name)` after it."""

    name: str
    made: ast.List
    append: ast.Expr
    value: ast.expr
    stacks: tuple[ast.Call, ...]
    counter: str
    count: ast.expr  # how many turns the loop has
    like: str  # a tensor of the same type as the values


def collected(script: Script, loop: ast.For) -> Iterator[Collection]:
    """Lists that a loop over `range(n)` fills with one tensor per turn and that are stacked."""
    counter = loop.target
    match loop.iter:
        case ast.Call(args=[count]) if isinstance(counter, ast.Name):
            pass
        case _:
            return
    for node in loop.body:
        match node:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[value]
                )
            ):
                made, stacks = _made(script, loop, name), _stacks(script, loop, name, node)
                like = _same_type(script, loop, value)
                if made is not None and stacks and like is not None:
                    yield Collection(name, made, node, value, stacks, counter.id, count, like)


def arrays(script: Script, found: Collection, constructor: str) -> list[Splice]:
    """The edits that make a list an array of the graph."""
    count, value = script.source(found.count), script.source(found.value)
    new = f"{constructor}({found.like}.dtype, {count})"
    written = f"{found.name} = {found.name}.write({found.counter}, {value})"
    edits = [
        Splice(*script.span(found.made), new),
        Splice(*script.span(found.append), written),
    ]
    stacked = f"{found.name}.stack()"
    return edits + [Splice(*script.span(stack), stacked) for stack in found.stacks]


def _made(script: Script, loop: ast.For, name: str) -> ast.List | None:
    """The empty list that is made in front of the loop."""
    block, index = script.block(loop)
    for node in reversed(block[:index]):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.List(elts=[]) as made):
                if target == name:
                    return made
        if name in uses([node]).reads | uses([node]).writes:
            return None
    return None


def _stacks(script: Script, loop: ast.For, name: str, append: ast.Expr) -> tuple[ast.Call, ...]:
    """Where the list is stacked; nothing where it is used in any other way."""
    scope = script.function_of(loop) or script.tree
    found: list[ast.Call] = []
    for node in inside(scope, ast.Name):
        if node.id != name or script.within(node, append):
            continue
        parent = script.parents[node]
        if is_stored(node) and isinstance(parent, ast.Assign):
            continue
        is_stack = isinstance(parent, ast.Call) and _is_stack(script, parent, node)
        if not isinstance(parent, ast.Call) or not is_stack:
            return ()
        found.append(parent)
    assigned = [node for node in inside(scope, ast.Name) if node.id == name and is_stored(node)]
    return tuple(found) if len(assigned) == 1 else ()


def _is_stack(script: Script, call: ast.Call, node: ast.Name) -> bool:
    first_axis = not call.keywords or ast.unparse(call.keywords[0]) == "axis=0"
    alone = len(call.keywords) < 2 and call.args == [node]
    return script.name(call.func) in ("tf.stack", "tf.convert_to_tensor") and alone and first_axis


def _same_type(script: Script, loop: ast.For, value: ast.expr) -> str | None:
    """A tensor that exists before the loop and that the value is computed from, type for type."""
    block, index = script.block(loop)
    before = uses(block[:index]).writes
    carried = uses(loop.body).writes & before
    waiting, seen = [value], set[str]()
    while waiting:
        node = waiting.pop()
        calls = {last_name(call.func) for call in inside(node, ast.Call)}
        if calls & _OTHER_TYPE or any(inside(node, ast.Compare)):
            return None
        names = [each.id for each in inside(node, ast.Name) if each.id not in seen]
        for name in names:
            seen.add(name)
            if name in carried:
                return name
            waiting += _assigned_in(loop, name)
    return None


def _assigned_in(loop: ast.For, name: str) -> list[ast.expr]:
    """What a name is set to in the body of a loop."""
    found = []
    for node in loop.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                found.append(value)
    return found
