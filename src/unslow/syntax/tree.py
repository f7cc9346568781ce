"""The parsed file and where each node stands in it: parents, enclosing loops, functions and classes."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from typing import TypeAlias, TypeVar

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While | Comprehension
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
STATEMENT_LOOPS = (ast.For, ast.AsyncFor, ast.While)

# Fields that hold no nodes, or nodes without a place of their own, which the whole tree shares.
_PLACELESS = frozenset(
    {
        "arg",
        "asname",
        "attr",
        "conversion",
        "ctx",
        "id",
        "is_async",
        "kind",
        "kwd_attrs",
        "level",
        "module",
    }
    | {"name", "op", "ops", "simple", "tag", "type_comment", "type_ignores"}
)
_NODE_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}

Node = TypeVar("Node", bound=ast.AST)


class Tree:
    """A file's syntax tree with the way up. Raises what `ast.parse` raises for text that is no Python."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the file's own invalid escapes are not ours to report
            self.tree = ast.parse(text, filename=path)
        self.parents: dict[ast.AST, ast.AST] = {}
        self._by_type: dict[type[ast.AST], list[ast.AST]] = {}
        self._lines: list[str] | None = None
        self._index()

    def _index(self) -> None:
        """One pass in the order of the text; without recursion, for expressions may be very deep."""
        stack: list[ast.AST] = [self.tree]
        parents, by_type = self.parents, self._by_type
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind not in by_type:
                by_type[kind] = []
            by_type[kind].append(node)
            below = children(node)
            for child in below:
                parents[child] = node
            below.reverse()
            stack += below

    def every(self, kind: type[Node]) -> list[Node]:
        """All nodes of one type, in the order of the text."""
        return self._by_type.get(kind, [])  # type: ignore[return-value]

    def line(self, number: int) -> str:
        if self._lines is None:
            # Not splitlines(): Python ends a line at fewer characters than str does.
            self._lines = self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""

    def column(self, line: int, offset: int) -> int:
        """The column of a byte offset, counted in characters from 1, as editors do."""
        return len(self.line(line).encode()[:offset].decode(errors="replace")) + 1

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, innermost first."""
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that a node belongs to; a statement is its own."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.stmt):
            current = self.parents.get(current)
        return current

    def function(self, node: ast.AST) -> Function | None:
        """The function whose body runs a node: decorators and defaults run outside it."""
        child = node
        for parent in self.ancestors(node):
            if isinstance(parent, FUNCTIONS) and runs_in(parent, child):
                return parent
            if isinstance(parent, ast.ClassDef) and child in parent.body:
                return None
            child = parent
        return None

    def enclosing_class(self, node: ast.AST) -> ast.ClassDef | None:
        """The class of the method that a node is in, also through functions within the method."""
        child = node
        for parent in self.ancestors(node):
            if isinstance(parent, ast.ClassDef) and child in parent.body:
                return parent
            child = parent
        return None

    def loops(self, node: ast.AST) -> list[Loop]:
        """The loops of the same function that run a node more than once, innermost first."""
        found: list[Loop] = []
        child = node
        for parent in self.ancestors(node):
            if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
                if runs_in(parent, child):
                    break
            elif isinstance(parent, (*STATEMENT_LOOPS, *COMPREHENSIONS)) and repeats(
                parent, child, node, self.parents
            ):
                found.append(parent)
            child = parent
        return found

    def within(self, node: ast.AST, ancestor: ast.AST) -> bool:
        return node is ancestor or any(parent is ancestor for parent in self.ancestors(node))

    def conditions(self, node: ast.AST, up_to: ast.AST | None = None) -> Iterator[ast.expr]:
        """The tests that decide whether a node runs, innermost first, up to a loop or the function's edge."""
        child = node
        for parent in self.ancestors(node):
            if parent is up_to or (isinstance(parent, FUNCTIONS) and runs_in(parent, child)):
                return
            if isinstance(parent, (ast.If, ast.IfExp, ast.While)) and child is not parent.test:
                yield parent.test
            child = parent


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node, in the order of the text."""
    kind = type(node)
    if kind not in _NODE_FIELDS:
        _NODE_FIELDS[kind] = tuple(field for field in kind._fields if field not in _PLACELESS)
    found: list[ast.AST] = []
    for field in _NODE_FIELDS[kind]:
        value = getattr(node, field, None)
        if isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def runs_in(scope: ast.AST, child: ast.AST) -> bool:
    """Whether a direct child of a function or class is part of its body."""
    body = getattr(scope, "body", None)
    return child is body or (isinstance(body, list) and child in body)


def repeats(loop: ast.AST, child: ast.AST, node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a child of a loop runs in every turn: not the iterable, and not the `else` branch."""
    if isinstance(loop, ast.While):
        return child is loop.test or child in loop.body
    if isinstance(loop, (ast.For, ast.AsyncFor)):
        return child in loop.body
    if isinstance(loop, COMPREHENSIONS) and child is loop.generators[0]:
        first = loop.generators[0].iter
        current: ast.AST | None = node
        while current is not None and current is not child:
            if current is first:
                return False
            current = parents.get(current)
    return True


def own_nodes(root: ast.AST) -> Iterator[ast.AST]:
    """What runs when a body or statement runs: functions and classes that it only defines are left out."""
    stack = _body(root) if isinstance(root, (*FUNCTIONS, ast.ClassDef)) else children(root)
    stack = stack[::-1]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            stack.extend(reversed(node.decorator_list))
        elif not isinstance(node, ast.Lambda):
            stack.extend(reversed(children(node)))


def _body(root: ast.AST) -> list[ast.AST]:
    body = getattr(root, "body", [])
    return list(body) if isinstance(body, list) else [body]
