"""Where a function of the user's binds a name, and where it reads it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True)
class Binding:
    """An assignment to a name."""

    line: int
    last_line: int
    value: ast.expr | None  # None where it is not written as an expression: a loop's target
    in_loop: bool

    def reads(self, name: str) -> bool:
        if self.value is None:
            return False
        nodes = ast.walk(self.value)
        return any(isinstance(node, ast.Name) and node.id == name for node in nodes)


@dataclass
class Names:
    """The names of one function, or of a module's own statements."""

    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    reads: dict[str, list[int]] = field(default_factory=dict)  # lines
    captured: set[str] = field(default_factory=set)  # names that functions inside it read

    def line_of(self, name: str) -> int | None:
        """The last line that binds a name."""
        found = self.bindings.get(name)
        return found[-1].line if found else None

    def last_read(self, name: str) -> int:
        return max(self.reads.get(name, ()), default=0)


def names_of(source: str, function: str) -> Names:
    """Names of a function by its name, `<module>` for a file's own; empty where it is not found."""
    names = Names()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return names
    body = _body(tree, function)
    for statement in body:
        _gather(statement, names, in_loop=False)
    return names


def _body(tree: ast.Module, function: str) -> list[ast.stmt]:
    if function == "<module>":
        return tree.body
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function:
            return node.body
    return []


def _gather(node: ast.AST, names: Names, in_loop: bool) -> None:
    if isinstance(node, _FUNCTIONS):
        _capture(node, names)
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        names.reads.setdefault(node.id, []).append(node.lineno)
    if isinstance(node, ast.stmt):
        for name, value in _bound(node):
            last = node.end_lineno or node.lineno
            binding = Binding(node.lineno, last, value, in_loop or isinstance(node, _LOOPS))
            names.bindings.setdefault(name, []).append(binding)
    inside = in_loop or isinstance(node, _LOOPS)
    for child in ast.iter_child_nodes(node):
        _gather(child, names, inside)


def _capture(node: ast.AST, names: Names) -> None:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
            names.captured.add(inner.id)


def _bound(node: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that a statement binds, each with its expression."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _paired(target, node.value)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        yield from _paired(node.target, node.value)
    elif isinstance(node, ast.For | ast.AsyncFor):
        yield from _paired(node.target, None)


def _paired(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List):
        values = _unpacked(value, len(target.elts))
        for inner, each in zip(target.elts, values, strict=True):
            yield from _paired(inner, each)


def _unpacked(value: ast.expr | None, number: int) -> list[ast.expr | None]:
    if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == number:
        return [*value.elts]
    return [value] * number
