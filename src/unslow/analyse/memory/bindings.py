"""Where a function of the user's binds a name, and where it reads it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from unslow.model import Run
from unslow.syntax.nodes import FUNCTIONS, STATEMENT_LOOPS, inside, is_stored, lines_of
from unslow.syntax.tree import Tree, tree_of


@dataclass(frozen=True)
class Binding:
    """An assignment to a name."""

    line: int
    last_line: int
    value: ast.expr | None  # None where it is not written as an expression: a loop's target
    in_loop: bool

    def reads(self, name: str) -> bool:
        names = inside(self.value, ast.Name) if self.value is not None else ()
        return any(node.id == name for node in names)


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


@lru_cache(maxsize=64)
def names_of(source: str, function: str) -> Names:
    """Names of a function by its name, `<module>` for a file's own; empty where it is not found."""
    names = Names()
    for statement in _body(tree_of(source), function):
        _gather(statement, names, in_loop=False)
    return names


def names_in(run: Run, file: str, function: str) -> Names:
    """The names of a function of the program, as it was recorded."""
    return names_of(run.sources.get(file, ""), function)


def _body(tree: Tree, function: str) -> list[ast.stmt]:
    if function == "<module>":
        return tree.tree.body
    return next((node.body for node in tree.functions if node.name == function), [])


def _gather(node: ast.AST, names: Names, in_loop: bool) -> None:
    if isinstance(node, FUNCTIONS):
        names.captured |= {name.id for name in inside(node, ast.Name) if not is_stored(name)}
        return
    if isinstance(node, ast.Name) and not is_stored(node):
        names.reads.setdefault(node.id, []).append(node.lineno)
    in_loop = in_loop or isinstance(node, STATEMENT_LOOPS)
    if isinstance(node, ast.stmt):
        lines = lines_of(node)
        for name, value in _bound(node):
            binding = Binding(lines.start, lines.stop - 1, value, in_loop)
            names.bindings.setdefault(name, []).append(binding)
    for child in ast.iter_child_nodes(node):
        _gather(child, names, in_loop)


def _bound(node: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that a statement binds, each with its expression."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _paired(target, value)
        case ast.AnnAssign(target=target, value=value) | ast.AugAssign(target=target, value=value):
            yield from _paired(target, value)
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield from _paired(target, None)


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
