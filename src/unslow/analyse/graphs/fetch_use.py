"""What becomes of a fetched value: how often the source reads the name that it is bound to."""

from __future__ import annotations

import ast
import enum
from collections.abc import Sequence

from unslow.analyse.scopes import Sources
from unslow.facts.sessions import Fetch
from unslow.model import Location
from unslow.syntax.nodes import has_starred, inside, is_stored
from unslow.syntax.tree import Tree


class Use(enum.Enum):
    """How often a fetched value is read; where that is unclear it counts as ALWAYS."""

    NEVER = "never"
    SOMETIMES = "sometimes"  # inside an `if`
    ALWAYS = "always"


def use_of(sources: Sources, fetch: Fetch) -> Use:
    where, called = _receiver(sources, [Location(*place) for place in fetch.stack])
    statements = sources.around(where)
    match statements[-1:]:
        case [ast.Expr(value=value)]:
            return Use.NEVER if _is_call_of(value, called) else Use.ALWAYS
        case [ast.Assign(targets=[ast.Name(id=name)])] if fetch.of == 1 or fetch.key is not None:
            return _use_of_name(sources, where, name, fetch.key)
        case [ast.Assign(targets=[ast.Tuple(elts=items) | ast.List(elts=items)])]:
            target = items[fetch.position] if len(items) == fetch.of else None
            if isinstance(target, ast.Name) and not has_starred(items):
                return _use_of_name(sources, where, target.id, None)
    return Use.ALWAYS


def _receiver(sources: Sources, stack: Sequence[Location]) -> tuple[Location, str]:
    """The line that gets the result of a run, and what it calls for it.

    A function that returns the result as it is hands it on to the line that called it.
    """
    called = "run"
    for where in stack[:-1]:
        match sources.around(where)[-1:]:
            case [ast.Return(value=value)] if _is_call_of(value, called):
                called = where.function
            case _:
                return where, called
    return stack[-1], called


def _is_call_of(value: ast.expr | None, name: str) -> bool:
    """Whether an expression calls a method or function of this name, and does nothing else."""
    match value:
        case ast.Call(func=ast.Attribute(attr=called) | ast.Name(id=called)):
            return called == name
    return False


def _use_of_name(sources: Sources, where: Location, name: str, key: str | int | None) -> Use:
    """How often a name, or a key of it, is read in the function around a line."""
    tree = sources.tree(where.file)
    scope = sources.function(where) or tree.tree
    names = [node for node in inside(scope, ast.Name) if node.id == name]
    loads = [node for node in names if not is_stored(node)]
    reads = [node for node in loads if not _is_other_key(tree.parents.get(node), key)]
    if not reads:
        return Use.NEVER
    around = sources.around(where)
    loops = [node for node in around if isinstance(node, ast.For | ast.While)]
    always = [read for read in reads if _is_in_every_turn(tree, read, loops[-1:], around)]
    return Use.ALWAYS if always else Use.SOMETIMES


def _is_other_key(node: ast.AST | None, key: str | int | None) -> bool:
    match node:
        case ast.Subscript(slice=ast.Constant(value=read)) if key is not None:
            return bool(read != key)
    return False


def _is_in_every_turn(
    tree: Tree, read: ast.AST, loop: Sequence[ast.AST], around: Sequence[ast.AST]
) -> bool:
    """Whether a name is read inside a loop and outside of any `if` of its own."""
    child = read
    for parent in tree.ancestors(read):
        if parent in loop:
            return True
        is_branch = isinstance(parent, ast.If) and child is not parent.test
        if is_branch and parent not in around:
            return False
        child = parent
    return False
