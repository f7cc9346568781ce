"""Keep what a graph loop collects in a `tf.TensorArray` instead of a list."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import spelling
from unslow.fix.moves.shapes import is_call, only, reads, stores
from unslow.syntax.nodes import (
    argument,
    given_values,
    inside,
    last_name,
    of_type,
    parameter_names,
    words,
)
from unslow.syntax.uses import uses

# What gives back another type than it is given: the type of the array would be guessed wrong.
_OTHER_TYPE = words(
    "cast argmax argmin shape size equal not_equal less greater less_equal greater_equal where"
    " reduce_any reduce_all logical_and logical_or logical_not one_hot range bitcast complex"
    " is_finite is_nan top_k"
)
_MOVE_AXIS = "tf.experimental.numpy.moveaxis"  # of a tensor of any rank, unlike tf.transpose


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


def arrays(script: Script, found: Collection) -> list[Splice]:
    """The edits that make a list an array of the graph."""
    count, value = script.source(found.count), script.source(found.value)
    array, _ = spelling(script, "tf.TensorArray", found.append)
    new = f"{array}({found.like}.dtype, {count})"
    written = f"{found.name} = {found.name}.write({found.counter}, {value})"
    edits = [Splice(*script.span(found.made), new), Splice(*script.span(found.append), written)]
    for stack in found.stacks:
        text = f"{found.name}.{_method_for(script, stack)}()"
        axis = _axis(stack)
        if axis != 0:
            moved, _ = spelling(script, _MOVE_AXIS, stack)
            text = f"{moved}({text}, 0, {axis})"
        edits.append(Splice(*script.span(stack), text))
    return edits


def python_starts(block: list[ast.stmt]) -> dict[str, ast.expr]:
    """Names that are bound to plain Python values, with the last of these."""
    found: dict[str, ast.expr] = {}
    for node in block:
        match node:
            case ast.Assign(value=ast.Constant() | ast.List() | ast.Dict() | ast.Set() as value):
                names = [each.id for each in of_type(node.targets, ast.Name)]
                found |= dict.fromkeys(names, value)
    return found


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
    scope = script.home(loop)
    uses_of = [node for node in reads(scope, name) if not script.within(node, append)]
    stacks = [script.parents[node] for node in uses_of]
    bound = only(stores(scope, name))
    made = bound is not None and isinstance(script.parents[bound], ast.Assign)
    is_stacked = made and all(_method_for(script, node) for node in stacks)
    return tuple(node for node in stacks if isinstance(node, ast.Call)) if is_stacked else ()


def _method_for(script: Script, node: ast.AST) -> str | None:
    """How an array gives what a call makes of a list: by `stack` or by `concat`."""
    match node:
        case ast.Call(args=[ast.Name(), *_]):
            axis, given = _axis(node), len(given_values(node))
        case _:
            return None
    if given == 1 and is_call(script, node, "tf.stack", "tf.convert_to_tensor"):
        return "stack"
    if given == 2 and axis is not None and is_call(script, node, "tf.stack"):
        return "stack"
    # An array can only join along the first axis.
    return "concat" if given == 2 and axis == 0 and is_call(script, node, "tf.concat") else None


def _axis(call: ast.Call) -> int | None:
    """The axis that a call stacks along, where it is written as a number."""
    match argument(call, "axis", 1):
        case None:
            return 0
        case ast.Constant(value=int(axis)):
            return axis
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(axis))):
            return -axis
    return None


def _same_type(script: Script, loop: ast.For, value: ast.expr) -> str | None:
    """A tensor that exists before the loop and that the value is computed from, type for type."""
    block, index = script.block(loop)
    before = uses(block[:index]).writes | parameter_names(script.home(loop))
    before -= python_starts(block[:index]).keys()
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
