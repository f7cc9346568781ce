"""Which line of a source makes a container grow: the mutation of that very name, inside a loop where there is one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from unslow.syntax.nodes import STATEMENT_LOOPS, method_of, words
from unslow.syntax.tree import Tree

_GROWING = words("append extend add insert update setdefault appendleft push store")


def grower(source: str, function: str, path: str, loop: tuple[int, int] | None) -> int | None:
    """The line that grows `path` (as the user writes it) in a file, nearest to the loop; None if none is seen."""
    try:
        tree = Tree("", source)
        wanted = ast.unparse(ast.parse(path, mode="eval").body)
    except (SyntaxError, ValueError):
        return None
    growing = list(_mutations(tree, lambda node: ast.unparse(node) == wanted))
    holder, _, attribute = wanted.rpartition(".")
    if not growing and holder:
        # The holder has another name there: `self.history` is `trainer.history` outside.
        growing = list(_mutations(tree, lambda node: _is_attribute(node, attribute)))
    first, last = loop or (0, -1)
    inside = [node for node in growing if first <= node.lineno <= last]
    if not growing:
        return None
    return max(inside or growing, key=lambda node: (_depth(tree, node), -node.lineno)).lineno


def _is_attribute(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name


def _depth(tree: Tree, node: ast.AST) -> int:
    return sum(isinstance(parent, STATEMENT_LOOPS) for parent in tree.ancestors(node))


def _mutations(
    tree: Tree, is_wanted: Callable[[ast.AST], bool]
) -> Iterator[ast.Call | ast.AugAssign | ast.Assign]:
    """What adds to a container, in the order of the text within each form."""
    for call in tree.every(ast.Call):
        grows = method_of(call) in _GROWING and isinstance(call.func, ast.Attribute)
        if grows and is_wanted(call.func.value):  # type: ignore[attr-defined]
            yield call
    for added in tree.every(ast.AugAssign):
        if is_wanted(added.target):
            yield added
    for assign in tree.every(ast.Assign):
        if any(_adds(target, assign.value, is_wanted) for target in assign.targets):
            yield assign


def _adds(target: ast.expr, value: ast.expr, is_wanted: Callable[[ast.AST], bool]) -> bool:
    """Whether an assignment sets an item of a container, or makes a longer one of it."""
    if isinstance(target, ast.Subscript) and is_wanted(target.value):
        return True
    return is_wanted(target) and any(map(is_wanted, _parts(value)))


def _parts(value: ast.expr) -> Iterator[ast.expr]:
    """What a new value is put together from: `a + b`, or the arguments of a call such as `np.append(a, b)`."""
    match value:
        case ast.BinOp(left=left):
            yield left
        case ast.Call(args=given):
            for one in given:
                yield from one.elts if isinstance(one, ast.List | ast.Tuple) else [one]
