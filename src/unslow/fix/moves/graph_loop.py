"""Make a Python loop a loop of the graph: `tf.range` for `range`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import replaced, spelled
from unslow.fix.moves.decorators import decorator
from unslow.fix.moves.tensor_array import arrays, collected
from unslow.syntax.dataflow import flow
from unslow.syntax.nodes import STATEMENT_LOOPS, NamedFunction, parameter_names
from unslow.syntax.uses import uses

_FILLS = ("append", "extend", "insert", "update", "pop", "add", "setdefault")
_PLAIN = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Pass)


def range_to_graph(script: Script, line: int) -> Script:
    """Loop over `tf.range`; refuses where the body needs Python numbers or lists."""
    loop = _loop(script, line)
    if _is_call(script, loop.iter, "tf.range"):
        return script
    if not _is_call(script, loop.iter, "range") or not isinstance(loop.target, ast.Name):
        raise script.refuse("the loop does not count with `range`", loop)
    function = script.function_of(loop)
    if function is None or decorator(script, function, "tf.function") is None:
        raise script.refuse(
            "the loop's function is not itself a tf.function, so its loops stay Python's", loop
        )
    collections = list(collected(script, loop))
    filled = {collection.append for collection in collections}
    for node in loop.body:
        if node not in filled:
            _plain(script, node)
    _only_indexes(script, loop, loop.target.id)
    _carried(script, function, loop, {collection.name for collection in collections})
    script, name = spelled(script, "tf.range", loop)
    script, array = spelled(script, "tf.TensorArray", _loop(script, line))
    loop = _loop(script, line)
    assert isinstance(loop.iter, ast.Call)
    splices = [replaced(script, loop.iter.func, name)]
    for collection in collected(script, loop):
        splices += arrays(script, collection, array)
    return script.edit(splices)


def _loop(script: Script, line: int) -> ast.For:
    node = script.statement_at(line)
    if not isinstance(node, ast.For):
        raise CannotEdit(f"there is no `for` on line {line}", line)
    return node


def _is_call(script: Script, node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and script.name(node.func) == name and not node.keywords


def _plain(script: Script, node: ast.stmt) -> None:
    """Allow assignments and calls only: a branch may depend on Python values."""
    if not isinstance(node, _PLAIN):
        raise script.refuse("the body holds more than assignments", node)
    for inner in ast.walk(node):
        if (
            isinstance(inner, ast.Call)
            and isinstance(inner.func, ast.Attribute)
            and inner.func.attr in _FILLS
        ):
            raise script.refuse(
                "the body fills a Python container, which needs a tf.TensorArray", inner
            )
        if isinstance(
            inner,
            ast.ListComp
            | ast.DictComp
            | ast.SetComp
            | ast.GeneratorExp
            | ast.Lambda
            | ast.JoinedStr,
        ):
            raise script.refuse("the body builds Python objects", inner)
        if isinstance(inner, ast.Subscript | ast.Attribute) and isinstance(inner.ctx, ast.Store):
            raise script.refuse("the body changes an object in place", inner)


def _only_indexes(script: Script, loop: ast.For, name: str) -> None:
    """Require that the counter only indexes tensors or goes to TensorFlow."""
    for node in loop.body:
        for inner in ast.walk(node):
            if not isinstance(inner, ast.Name) or inner.id != name:
                continue
            if not any(_takes_tensor(script, parent) for parent in _around(script, inner)):
                raise script.refuse(f"`{name}` may be needed as a Python number there", inner)


def _around(script: Script, node: ast.AST) -> Iterator[ast.AST]:
    """The expressions around a node, innermost first, up to its statement."""
    for parent in script.ancestors(node):
        if isinstance(parent, ast.stmt):
            return
        yield parent


def _takes_tensor(script: Script, node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Tuple)
    if isinstance(node, ast.Call):
        return script.name(node.func).startswith(("tf.", "keras."))
    return False


def _carried(script: Script, function: NamedFunction, loop: ast.For, collections: set[str]) -> None:
    """Require a value before the loop for what it carries: a graph has no first turn."""
    block, index = script.block(loop)
    after = flow(block[index + 1 :]).exposed
    carried = uses(loop.body).writes & (flow(loop.body).exposed | after) - collections
    before = uses(block[:index]).writes | parameter_names(function)
    for parent in script.ancestors(loop):
        if parent is function:
            break
        if isinstance(parent, ast.stmt) and not isinstance(parent, STATEMENT_LOOPS):
            above, at = script.block(parent)
            before |= uses(above[:at]).writes
    for name in sorted(carried - before):
        raise script.refuse(f"`{name}` has no value before the loop", loop)
    for name in sorted(carried & _numbers(block[:index])):
        raise script.refuse(
            f"`{name}` starts as a Python number, which a loop of the graph would not keep", loop
        )


def _numbers(block: list[ast.stmt]) -> set[str]:
    """Names that are bound to plain Python values."""
    return {
        target.id
        for node in block
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant | ast.List | ast.Dict | ast.Set)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
