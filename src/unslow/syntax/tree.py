"""The parsed file: parents, statements, loops, functions and classes of each node."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from functools import cached_property, lru_cache

from unslow.syntax.nodes import (
    COMPREHENSIONS,
    DEFINITIONS,
    FUNCTIONS,
    NAMED_FUNCTIONS,
    STATEMENT_LOOPS,
    Function,
    Loop,
    NamedFunction,
    Node,
    StatementLoop,
    children,
    first_line,
    lines_of,
)

_FILES = 64  # trees that are kept: a thousand workers run the same few files


class Tree:
    """A file's syntax tree with parents. Raises what `ast.parse` raises."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the file's own invalid escapes are not ours to report
            self.tree = self._parse()
        self.parents: dict[ast.AST, ast.AST] = {}
        self._by_type: dict[type[ast.AST], list[ast.AST]] = {}
        self._index()

    def _parse(self) -> ast.Module:
        return ast.parse(self.text, filename=self.path)

    def _index(self) -> None:
        """One pass in text order, without recursion: expressions may be very deep."""
        stack: list[ast.AST] = [self.tree]
        parents, by_type = self.parents, self._by_type
        while stack:
            node = stack.pop()
            by_type.setdefault(type(node), []).append(node)
            below = children(node)
            for child in below:
                parents[child] = node
            below.reverse()
            stack += below

    def every(self, kind: type[Node]) -> list[Node]:
        """All nodes of one type, in the order of the text."""
        return self._by_type.get(kind, [])  # type: ignore[return-value]

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the file, outer ones first."""
        return (self.tree, *self.parents)

    @cached_property
    def functions(self) -> list[NamedFunction]:
        return [*self.every(ast.FunctionDef), *self.every(ast.AsyncFunctionDef)]

    # Text

    @cached_property
    def _rows(self) -> list[str]:
        # Not splitlines(): Python ends a line at fewer characters than str does.
        return self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    def line(self, number: int) -> str:
        return self._rows[number - 1] if 0 < number <= len(self._rows) else ""

    def column(self, line: int, offset: int) -> int:
        """The column of a byte offset, counted in characters from 1, as editors do."""
        return len(self.line(line).encode()[:offset].decode(errors="replace")) + 1

    # Upwards from a node

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, innermost first."""
        return (parent for _, parent in self.upwards(node))

    def upwards(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """The nodes around a node, innermost first, each after its child on the way."""
        parent = self.parents.get(node)
        while parent is not None:
            yield node, parent
            node, parent = parent, self.parents.get(parent)

    def within(self, node: ast.AST, ancestor: ast.AST) -> bool:
        return node is ancestor or any(parent is ancestor for parent in self.ancestors(node))

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that a node belongs to; a statement is its own."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.stmt):
            current = self.parents.get(current)
        return current

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """As `statement`, for a node that is surely in one."""
        found = self.statement(node)
        assert found is not None
        return found

    def block(self, statement: ast.stmt) -> tuple[list[ast.stmt], int]:
        """The block that a statement stands in, and its place there."""
        for _, value in ast.iter_fields(self.parents[statement]):
            if isinstance(value, list) and statement in value:
                return value, value.index(statement)
        raise AssertionError("a statement is always in a block")

    def function(self, node: ast.AST) -> Function | None:
        """The function whose body runs a node: decorators and defaults run outside it."""
        for child, parent in self.upwards(node):
            if isinstance(parent, FUNCTIONS) and runs_in(parent, child):
                return parent
            if isinstance(parent, ast.ClassDef) and child in parent.body:
                return None
        return None

    def function_of(self, node: ast.AST) -> NamedFunction | None:
        """The innermost function with a name that a node is part of, its decorators included."""
        around = (parent for parent in self.ancestors(node) if isinstance(parent, NAMED_FUNCTIONS))
        return next(around, None)

    def home(self, node: ast.AST) -> NamedFunction | ast.Module:
        """The function with a name, or else the module, that a node is part of."""
        return self.function_of(node) or self.tree

    def enclosing_class(self, node: ast.AST) -> ast.ClassDef | None:
        """The class of the method that a node is in, also through functions within the method."""
        for child, parent in self.upwards(node):
            if isinstance(parent, ast.ClassDef) and child in parent.body:
                return parent
        return None

    def class_of_method(self, function: ast.AST) -> ast.ClassDef | None:
        """The class that a function is a method of."""
        owner = self.parents.get(function)
        return owner if isinstance(owner, ast.ClassDef) else None

    def loops(self, node: ast.AST) -> list[Loop]:
        """The loops of the same function that run a node more than once, innermost first."""
        found: list[Loop] = []
        for child, parent in self.upwards(node):
            if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
                if runs_in(parent, child):
                    break
            elif isinstance(parent, (*STATEMENT_LOOPS, *COMPREHENSIONS)):
                found += [parent] if self._repeats(parent, child, node) else []
        return found

    def _repeats(self, loop: Loop, child: ast.AST, node: ast.AST) -> bool:
        """Whether a child of a loop runs in every turn: not the iterable, not `else`."""
        if isinstance(loop, ast.While):
            return child is loop.test or child in loop.body
        if isinstance(loop, (ast.For, ast.AsyncFor)):
            return child in loop.body
        return self.runs_inside(loop, child, node)

    def loops_around(self, node: ast.AST) -> list[StatementLoop]:
        """The loop statements around a node in its function, innermost first."""
        found: list[StatementLoop] = []
        for child, parent in self.upwards(node):
            if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
                break
            if isinstance(parent, STATEMENT_LOOPS) and child in parent.body:
                found.append(parent)
        return found

    def conditions(self, node: ast.AST, up_to: ast.AST | None = None) -> Iterator[ast.expr]:
        """The tests that decide whether a node runs, innermost first."""
        for child, parent in self.upwards(node):
            left = isinstance(parent, FUNCTIONS) and runs_in(parent, child)
            if parent is up_to or left:
                return
            if isinstance(parent, (ast.If, ast.IfExp, ast.While)) and child is not parent.test:
                yield parent.test

    def runs_inside(self, owner: ast.AST, child: ast.AST, node: ast.AST) -> bool:
        """Whether a node below a child of a scope runs inside it: the first iterable does not."""
        if isinstance(owner, COMPREHENSIONS):
            first = owner.generators[0]
            return child is not first or not self.within(node, first.iter)
        return runs_in(owner, child)

    # Downwards to a line

    def around(self, line: int) -> list[ast.stmt]:
        """The statements that a line is part of, outermost first."""
        found: list[ast.stmt] = []
        block: list[ast.stmt] = self.tree.body
        while block:
            holder = next((node for node in block if _holds(node, line)), None)
            if holder is None:
                break
            found.append(holder)
            block = [inner for child in children(holder) for inner in _statements(child)]
        return found

    def loops_at(self, line: int) -> list[StatementLoop]:
        """The loops around a line, outermost first, within its function."""
        found: list[StatementLoop] = []
        for node in self.around(line):
            if isinstance(node, DEFINITIONS) and line > node.lineno:
                found = []
            elif isinstance(node, STATEMENT_LOOPS):
                found.append(node)
        return found

    def function_around(self, line: int) -> NamedFunction | None:
        """The innermost function around a line, its decorators included."""
        functions = [node for node in self.around(line) if isinstance(node, NAMED_FUNCTIONS)]
        return functions[-1] if functions else None

    def exclude_each_other(self, one: int, other: int) -> bool:
        """Whether two lines are in different branches of one `if`: only one of them runs."""
        return any(_separates(node, one, other) for node in self.every(ast.If))


@lru_cache(_FILES)
def tree_of(text: str) -> Tree:
    """The tree of a file; an empty one where it cannot be parsed."""
    try:
        return Tree("", text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Tree("", "")


def _separates(node: ast.If, one: int, other: int) -> bool:
    taken, otherwise = _block_lines(node.body), _block_lines(node.orelse)
    return (one in taken and other in otherwise) or (other in taken and one in otherwise)


def _block_lines(block: list[ast.stmt]) -> range:
    return range(block[0].lineno, lines_of(block[-1]).stop) if block else range(0)


def _statements(node: ast.AST) -> list[ast.stmt]:
    if isinstance(node, ast.stmt):
        return [node]
    return node.body if isinstance(node, ast.ExceptHandler | ast.match_case) else []


def _holds(node: ast.stmt, line: int) -> bool:
    return first_line(node) <= line <= (node.end_lineno or 0)


def runs_in(scope: ast.AST, child: ast.AST) -> bool:
    """Whether a direct child of a function or class is part of its body."""
    body = getattr(scope, "body", None)
    return child is body or (isinstance(body, list) and child in body)
