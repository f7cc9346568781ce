"""When a function is first used: what of a script may call it, and what runs from a place on."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Sequence

from unslow.fix.edit.script import Script
from unslow.syntax.nodes import NAMED_FUNCTIONS, NamedFunction

Home = ast.Module | NamedFunction
_DEFINITIONS = (*NAMED_FUNCTIONS, ast.ClassDef)


class Users:
    """All of a script that may call a function, itself or through others: whoever mentions its name."""

    def __init__(self, script: Script, function: NamedFunction) -> None:
        self._names: set[str] = set()
        self._methods: set[str] = set()
        todo = [function]
        while todo:
            self._add(script, todo.pop())
            todo = [
                node
                for node in script.functions
                if not self._knows(script, node) and self.among([node])
            ]

    def _add(self, script: Script, function: NamedFunction) -> None:
        owner = script.parents[function]
        if not isinstance(owner, ast.ClassDef):
            self._names.add(function.name)
            return
        self._methods.add(function.name)
        if function.name.startswith("__"):  # called by making or using an object, not by name
            self._names.add(owner.name)

    def _knows(self, script: Script, function: NamedFunction) -> bool:
        is_method = isinstance(script.parents[function], ast.ClassDef)
        return function.name in (self._methods if is_method else self._names)

    def among(self, nodes: Iterable[ast.AST]) -> bool:
        """Whether code mentions one of them."""
        return any(
            (isinstance(node, ast.Name) and node.id in self._names)
            or (isinstance(node, ast.Attribute) and node.attr in self._methods)
            for top in nodes
            for node in ast.walk(top)
        )


def home_of(script: Script, node: ast.AST) -> Home:
    """The module or function in which a function, or the class of a method, is defined."""
    return next(
        owner
        for owner in script.ancestors(node)
        if isinstance(owner, (ast.Module, *NAMED_FUNCTIONS))
    )


def first_use(home: Home, users: Users) -> ast.stmt | None:
    """The first statement that may lead to a call, looked for also inside `with` and the guard of a main module."""
    body: Sequence[ast.stmt] = home.body
    found: ast.stmt | None = None
    while True:
        inner = next(
            (node for node in body if not isinstance(node, _DEFINITIONS) and users.among([node])),
            None,
        )
        if inner is None:
            return found
        found = inner
        if not _surely_runs(inner, users):
            return found
        body = inner.body  # type: ignore[attr-defined]


def _surely_runs(node: ast.stmt, users: Users) -> bool:
    """Whether the body of a statement runs once whenever the statement does."""
    if isinstance(node, ast.With):
        return not users.among(node.items)
    guards = ("__name__ == '__main__'", "'__main__' == __name__")
    return isinstance(node, ast.If) and ast.unparse(node.test) in guards and not node.orelse


def from_here(script: Script, node: ast.stmt) -> list[ast.stmt]:
    """A statement and all that follow it, up to the function or module it stands in; definitions left out."""
    block, index = script.block(node)
    found = list(block[index:])
    for owner in script.ancestors(node):
        if isinstance(owner, (ast.Module, *_DEFINITIONS)):
            break
        if isinstance(owner, ast.stmt):
            block, index = script.block(owner)
            found += block[index + 1 :]
    return [each for each in found if not isinstance(each, _DEFINITIONS)]


def reached(script: Script, statements: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """Every node that may run with some statements: the functions and classes they mention included."""
    known: dict[str, list[ast.AST]] = {}
    for node in script.nodes:
        if isinstance(node, _DEFINITIONS):
            known.setdefault(node.name, []).append(node)
    todo: list[ast.AST] = list(statements)
    seen: set[str] = set()
    while todo:
        for node in ast.walk(todo.pop()):
            yield node
            name = (
                node.id
                if isinstance(node, ast.Name)
                else node.attr
                if isinstance(node, ast.Attribute)
                else None
            )
            if name is not None and name in known and name not in seen:
                seen.add(name)
                todo += known[name]


def surely_before(script: Script, definition: ast.AST, place: ast.stmt) -> bool:
    """Whether a statement has run, whatever happened, when a place is reached in the same function or module."""
    steps = [definition, *script.ancestors(definition)]
    around = {place: place, **{owner: owner for owner in script.ancestors(place)}}
    for child, owner in itertools.pairwise(steps):
        if not isinstance(child, ast.stmt):
            continue
        block, index = script.block(child)
        other = next(
            (block.index(node) for node in around if isinstance(node, ast.stmt) and node in block),
            None,
        )
        if other is not None:
            return index < other
        if not isinstance(owner, ast.With):
            return False
    return False
