"""When a function is first used: what of a file may call it, and what runs from a place on."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from unslow.syntax.callees import Called
from unslow.syntax.nodes import DEFINITIONS, NamedFunction, inside, last_name
from unslow.syntax.tree import Tree

Home = ast.Module | NamedFunction
_MAIN_GUARDS = ("__name__ == '__main__'", "'__main__' == __name__")


class Users:
    """Everything in a file that may call a function: whatever mentions its name."""

    def __init__(self, source: Called, function: NamedFunction) -> None:
        self._source = source
        self._names: set[str] = set()
        self._methods: set[str] = set()
        waiting = [function]
        while waiting:
            self._add(waiting.pop())
            unknown = [other for other in source.functions if not self._knows(other)]
            waiting = [other for other in unknown if self.among([other])]

    def _add(self, function: NamedFunction) -> None:
        owner = self._source.class_of_method(function)
        if owner is None:
            self._names.add(function.name)
            return
        self._methods.add(function.name)
        if function.name.startswith("__"):  # called by making or using an object, not by name
            self._names.add(owner.name)

    def _knows(self, function: NamedFunction) -> bool:
        is_method = self._source.class_of_method(function) is not None
        return function.name in (self._methods if is_method else self._names)

    def among(self, nodes: Iterable[ast.AST]) -> bool:
        """Whether code mentions one of them."""
        nodes = list(nodes)
        names = {node.id for node in inside(nodes, ast.Name)}
        attributes = {node.attr for node in inside(nodes, ast.Attribute)}
        return bool(names & self._names or attributes & self._methods)


def first_use(home: Home, users: Users) -> ast.stmt | None:
    """The first statement that may lead to a call, also inside `with` and a main guard."""
    body: Sequence[ast.stmt] = home.body
    found: ast.stmt | None = None
    while True:
        running = [node for node in body if not isinstance(node, DEFINITIONS)]
        inner = next((node for node in running if users.among([node])), None)
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
    return isinstance(node, ast.If) and not node.orelse and ast.unparse(node.test) in _MAIN_GUARDS


def from_here(source: Tree, node: ast.stmt) -> list[ast.stmt]:
    """A statement and those after it in its function or module, without definitions."""
    block, index = source.block(node)
    found = list(block[index:])
    for owner in source.ancestors(node):
        if isinstance(owner, (ast.Module, *DEFINITIONS)):
            break
        if isinstance(owner, ast.stmt):
            block, index = source.block(owner)
            found += block[index + 1 :]
    return [each for each in found if not isinstance(each, DEFINITIONS)]


def calls_reached(source: Tree, statements: Iterable[ast.stmt]) -> Iterator[ast.Call]:
    """Every call that statements may make, also in functions and classes they mention."""
    known: dict[str, list[ast.AST]] = {}
    for definition in (*source.functions, *source.every(ast.ClassDef)):
        known.setdefault(definition.name, []).append(definition)
    waiting: list[ast.AST] = list(statements)
    while waiting:
        for node in inside(waiting.pop(), ast.expr):
            if isinstance(node, ast.Call):
                yield node
            waiting += known.pop(last_name(node), [])


def surely_before(source: Tree, definition: ast.AST, place: ast.stmt) -> bool:
    """Whether a statement has surely run when a place in the same scope is reached."""
    around = [place, *source.ancestors(place)]
    node: ast.AST = definition
    while isinstance(node, ast.stmt):
        block, index = source.block(node)
        other = next((block.index(each) for each in around if each in block), None)
        if other is not None:
            return index < other
        node = source.parents[node]
        if not isinstance(node, ast.With):
            return False
    return False
