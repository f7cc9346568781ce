"""Which line of a source makes a container grow: the mutation of that very name, inside a loop where there is one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_GROWING = {
    "append",
    "extend",
    "add",
    "insert",
    "update",
    "setdefault",
    "appendleft",
    "push",
    "store",
}


def grower(source: str, function: str, path: str, loop: tuple[int, int] | None) -> int | None:
    """The line that grows `path` (as the user writes it) in a file, nearest to the loop; None if none is seen."""
    try:
        tree = ast.parse(source)
        wanted = ast.unparse(ast.parse(path, mode="eval").body)
    except (SyntaxError, ValueError):
        return None
    candidates = list(_mutations(tree, wanted))
    if (
        not candidates
    ):  # the holder has another name there: `self.history` is `trainer.history` outside
        attribute = wanted.rpartition(".")[2]
        if attribute != wanted:
            candidates = [
                (line, depth) for line, depth in _mutations(tree, attribute, attribute=True)
            ]
    if not candidates:
        return None
    inside = [(line, depth) for line, depth in candidates if loop and loop[0] <= line <= loop[1]]
    deepest = max(depth for _, depth in inside or candidates)
    return next(line for line, depth in inside or candidates if depth == deepest)


def _parts(value: ast.expr) -> list[ast.expr]:
    """What a new value is put together from: `a + b`, or the arguments of a call such as `np.append(a, b)`."""
    if isinstance(value, ast.BinOp):
        return [value.left]
    given = value.args if isinstance(value, ast.Call) else []
    return [
        part
        for one in given
        for part in (one.elts if isinstance(one, ast.List | ast.Tuple) else [one])
    ]


def _mutations(tree: ast.AST, wanted: str, attribute: bool = False) -> Iterator[tuple[int, int]]:
    """Lines that add to the name, with the number of loops around each."""

    def is_wanted(node: ast.AST) -> bool:
        if attribute:
            return isinstance(node, ast.Attribute) and node.attr == wanted
        return ast.unparse(node) == wanted

    def walk(node: ast.AST, depth: int) -> Iterator[tuple[int, int]]:
        if isinstance(node, ast.For | ast.While | ast.AsyncFor):
            depth += 1
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _GROWING
        ):
            if is_wanted(node.func.value):
                yield node.lineno, depth
        elif isinstance(node, ast.AugAssign) and is_wanted(node.target):
            yield node.lineno, depth
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                made_anew = is_wanted(target) and any(map(is_wanted, _parts(node.value)))
                if made_anew or (isinstance(target, ast.Subscript) and is_wanted(target.value)):
                    yield node.lineno, depth
        for child in ast.iter_child_nodes(node):
            yield from walk(child, depth)

    yield from walk(tree, 0)
