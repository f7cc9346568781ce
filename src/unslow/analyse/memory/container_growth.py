"""Which line of a source makes a container grow: one that adds to its name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from unslow.syntax.nodes import STATEMENT_LOOPS, of_type
from unslow.syntax.tree import tree_of

_GROWING = frozenset(
    ["append", "extend", "add", "insert", "update", "setdefault", "appendleft", "push", "store"]
)
_Line = tuple[int, int]  # line, and the number of loops around it


def growth_place(sources: Mapping[str, str], file: str, path: str) -> tuple[str, int] | None:
    """The file and line that grow `path`, a name in `file`; an attribute may grow in any file."""
    others = [other for other in sources if other != file] if "." in path else []
    for each in (file, *others):
        line = growth_line(sources.get(each, ""), path)
        if line is not None:
            return each, line
    return None


def growth_line(source: str, path: str) -> int | None:
    """The line that grows `path`, as the user writes it; None if none is seen."""
    try:
        wanted = ast.unparse(ast.parse(path, mode="eval").body)
    except (SyntaxError, ValueError):
        return None
    tree = tree_of(source).tree
    found = list(_mutations(tree, 0, lambda node: ast.unparse(node) == wanted))
    attribute = wanted.rpartition(".")[2]
    if not found and attribute != wanted:
        # The holder has another name there: `self.history` is `trainer.history` outside, and a key
        # of it may be any value: `self.series[name]` is `log.series['loss']`.
        name, _, key = attribute.partition("[")
        found = list(_mutations(tree, 0, lambda node: _is_attribute(node, name, bool(key))))
    line, _ = max(found, key=lambda each: each[1], default=(None, 0))
    return line


def _is_attribute(node: ast.AST, name: str, at_a_key: bool) -> bool:
    if at_a_key:
        return isinstance(node, ast.Subscript) and _is_attribute(node.value, name, at_a_key=False)
    return isinstance(node, ast.Attribute) and node.attr == name


def _mutations(node: ast.AST, depth: int, is_wanted: Callable[[ast.AST], bool]) -> Iterator[_Line]:
    """Lines that add to the container, with the number of loops around each."""
    depth += isinstance(node, STATEMENT_LOOPS)
    if any(map(is_wanted, _grown(node, is_wanted))):
        yield getattr(node, "lineno", 0), depth
    for child in ast.iter_child_nodes(node):
        yield from _mutations(child, depth, is_wanted)


def _grown(node: ast.AST, is_wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
    """What a statement or call adds to."""
    match node:
        case ast.Call(func=ast.Attribute(value=grown, attr=method)) if method in _GROWING:
            yield grown
        case ast.AugAssign(target=target):
            yield target
        case ast.Assign(targets=targets, value=value):
            yield from (item.value for item in of_type(targets, ast.Subscript))
            if any(map(is_wanted, _parts(value))):  # recreated, and longer
                yield from targets


def _parts(value: ast.expr) -> Iterator[ast.expr]:
    """What a new value is put together from: `a + b`, or the arguments of `np.append(a, b)`."""
    if isinstance(value, ast.BinOp):
        yield value.left
    for given in value.args if isinstance(value, ast.Call) else ():
        yield from given.elts if isinstance(given, ast.List | ast.Tuple) else (given,)
