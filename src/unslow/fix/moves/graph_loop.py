"""Make a Python loop a loop of the graph: `tf.range` for `range`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import suppress

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import replaced, spelling
from unslow.fix.moves.extract_function import read_afterwards
from unslow.fix.moves.shapes import is_arithmetic, is_call, mentions
from unslow.fix.moves.tensor_array import Collection, arrays, collected, python_starts
from unslow.fix.moves.while_loop import while_loop
from unslow.syntax.dataflow import flow
from unslow.syntax.library import TENSOR_LIKE
from unslow.syntax.nodes import (
    COMPREHENSIONS,
    STATEMENT_LOOPS,
    NamedFunction,
    header,
    inside,
    is_stored,
    last_name,
    method_of,
    of_type,
    parameter_names,
    words,
)
from unslow.syntax.python_types import PythonType, python_type
from unslow.syntax.uses import uses

_FILLS = ("append", "extend", "insert", "update", "pop", "add", "setdefault")
# They give one number if they are called with one argument; the first ones a real one.
_REDUCE_TO_REAL = words(
    "tf.reduce_mean tf.norm tf.nn.l2_loss tf.linalg.norm tf.linalg.global_norm tf.math.reduce_mean"
)
_REDUCE_TO_SCALAR = _REDUCE_TO_REAL | words(
    "tf.reduce_sum tf.reduce_max tf.reduce_min tf.math.reduce_sum tf.math.reduce_max"
    " tf.math.reduce_min tf.linalg.trace"
)
_FEWEST_TURNS = 16  # a judgement, as in the finding: unrolling fewer is no burden
_MOST_CALLS = 5  # from a compiled function to the loop; a judgement, two are usual
_PLAIN = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Pass)


def loops_to_graph(script: Script, line: int) -> Script:
    """Make the loop at a line one of the graph, and its neighbours that may be as long.

    Tracing shows how often the bodies repeat, of all loops of a function together.
    """
    edited = range_to_graph(script, line)
    loop = script.statement_at(line)
    if not isinstance(loop, ast.For):
        return edited
    for other in of_type(script.block(loop)[0], ast.For):
        turns = script.turns_of(other)
        if turns is None or turns >= _FEWEST_TURNS:
            with suppress(CannotEdit):
                edited = range_to_graph(edited, script.recorded(other))
    return edited


def range_to_graph(script: Script, line: int) -> Script:
    """Loop over `tf.range`; refuses where the body needs Python numbers or lists.

    Where AutoGraph may not see the function, as in the `call` of a Keras layer, the body becomes
    a function that `tf.while_loop` runs.
    """
    loop = _loop(script, line)
    if loop is None or is_call(script, loop.iter, "tf.range"):
        return script
    function = script.function_of(loop)
    if function is None:
        raise script.refuse("the loop is in no function", loop)
    collections = _plain_collections(script, loop, _is_converted(script, function))
    carried = _carried(script, function, loop, {collection.name for collection in collections})
    assert isinstance(loop.iter, ast.Call)
    counter, imports = spelling(script, "tf.range", loop)
    splices = [*imports, *_real_starts(script, loop)]
    backwards = _counted_down(script, loop)
    if backwards is not None:
        counted = f"{counter}({script.source(backwards)} - 1, -1, -1)"
        return script.edit([*splices, replaced(script, loop.iter, counted)])
    for collection in collected(script, loop):
        splices += arrays(script, collection)
    if loop_function(script, line) == "tf.range":
        return script.edit([*splices, replaced(script, loop.iter.func, counter)])
    names = carried.union(collection.name for collection in collections)
    runs, _ = spelling(script, "tf.while_loop", loop)
    return script.edit(while_loop(script, loop, names, splices, runs))


def _plain_collections(script: Script, loop: ast.For, branches: bool) -> list[Collection]:
    """What a loop collects in lists; raises where it does more than a graph can."""
    backwards = _counted_down(script, loop)
    counts = is_call(script, loop.iter, "range") or (backwards is not None and branches)
    if not counts or not isinstance(loop.target, ast.Name):
        raise script.refuse("the loop does not count with `range`", loop)
    collections = [] if backwards is not None else list(collected(script, loop))
    filled = {collection.append for collection in collections}
    for node in loop.body:
        if node not in filled:
            _plain(script, node, branches)
    _only_indexes(script, loop, loop.target.id)
    return collections


def _counted_down(script: Script, loop: ast.For) -> ast.expr | None:
    """The `n` of `reversed(range(n))`."""
    match loop.iter:
        case ast.Call(args=[ast.Call(args=[ast.Name() | ast.Constant() as number]) as counted]):
            is_reversed = is_call(script, loop.iter, "reversed") and is_call(
                script, counted, "range"
            )
            return number if is_reversed else None
    return None


def loop_function(script: Script, line: int) -> str:
    """TensorFlow's function that makes the loop at a line one of the graph."""
    node = script.statement_at(line)
    function = script.function_of(node) if node is not None else None
    return "tf.range" if _is_converted(script, function) else "tf.while_loop"


def _loop(script: Script, line: int) -> ast.For | None:
    """The loop at a line; None where it became a function."""
    node = script.statement_at(line)
    if isinstance(node, ast.For):
        return node
    if isinstance(script.origin.statement_at(line), ast.For):
        return None
    raise CannotEdit(f"there is no `for` on line {line}", line)


def _is_converted(script: Script, function: NamedFunction | None, depth: int = _MOST_CALLS) -> bool:
    """Whether AutoGraph surely sees a function: a compiled one, or one that only such ones call."""
    if function is None:
        return False
    compiler = script.compiler(function)
    if compiler is not None:
        options = {option.arg for option in getattr(compiler, "keywords", [])}
        return not options & {"autograph", None}
    if function.decorator_list or depth == 0 or any(script.other_files(function.name)):
        return False
    sites = script.possible_calls(function)
    called = {site.func for site in sites}
    named = [*script.every(ast.Name), *script.every(ast.Attribute)]
    handed_out = [node for node in named if last_name(node) == function.name]
    callers = [script.function_of(site) for site in sites]
    if not sites or not called.issuperset(handed_out):
        return False
    return all(_is_converted(script, each, depth - 1) for each in callers)


def _plain(script: Script, node: ast.stmt, branches: bool) -> None:
    """Allow assignments and calls, and branches only where AutoGraph converts them."""
    if isinstance(node, ast.If) and branches:
        for part in (*node.body, *node.orelse):
            _plain(script, part, branches)
        return
    script.refuse_if(not isinstance(node, _PLAIN), "the body holds more than assignments", node)
    for inner in ast.walk(node):
        match inner:
            case ast.Call() if method_of(inner) in _FILLS and not script.name(inner.func):
                reason = "the body fills a Python container, which needs a tf.TensorArray"
                raise script.refuse(reason, inner)
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                raise script.refuse("the body changes an object in place", inner)
        is_python = isinstance(inner, (*COMPREHENSIONS, ast.Lambda, ast.JoinedStr))
        script.refuse_if(is_python, "the body builds Python objects", inner)


def _only_indexes(script: Script, loop: ast.For, name: str) -> None:
    """Require that the counter, and what is computed from it alone, only indexes tensors, is
    compared, or goes to TensorFlow.
    """
    for node in mentions(loop.body, name):
        if is_stored(node):
            continue
        statement = script.statement_of(node)
        match statement:
            case ast.Assign(targets=[ast.Name(id=other)], value=value) if other != name:
                if is_arithmetic(value):
                    _only_indexes(script, loop, other)
                    continue
        around = [part for part in header(statement) if script.within(node, part)]
        takers = any(_takes_tensor(script, part) for part in around)
        script.refuse_if(not takers, f"`{name}` may be needed as a Python number there", node)


def _takes_tensor(script: Script, node: ast.AST) -> bool:
    match node:
        case ast.Subscript(slice=ast.Tuple()):
            return True
        case ast.Subscript(value=value):
            return script.kind(value) in TENSOR_LIKE
        case ast.Compare():
            return isinstance(script.parents[node], ast.If | ast.IfExp)  # AutoGraph converts it
        case ast.Call():
            return script.name(node.func).startswith(("tf.", "keras."))
    return False


def _carried(
    script: Script, function: NamedFunction, loop: ast.For, collections: set[str]
) -> set[str]:
    """What the loop carries; requires a value of it before the loop: a graph has no first turn."""
    block, index = script.block(loop)
    after = read_afterwards(script, [loop])
    carried = uses(loop.body).writes & (flow(loop.body).exposed | after) - collections
    carried |= after & {last_name(loop.target)}
    before = uses(block[:index]).writes | parameter_names(function)
    for parent in script.ancestors(loop):
        if parent is function:
            break
        if isinstance(parent, ast.stmt) and not isinstance(parent, STATEMENT_LOOPS):
            above, at = script.block(parent)
            before |= uses(above[:at]).writes
    for name in sorted(carried - before):
        raise script.refuse(f"`{name}` has no value before the loop", loop)
    starts = python_starts(block[:index])
    for name in sorted(carried & starts.keys()):
        _require_scalar(script, loop, name, starts[name])
    return carried


def _require_scalar(script: Script, loop: ast.For, name: str, start: ast.expr) -> None:
    """Requires of a Python value that the loop carries that a scalar tensor can hold it.

    The loop of a graph makes a tensor of it, whose dtype and shape must be those of each turn.
    """
    number = start.value if isinstance(start, ast.Constant) else None
    if not isinstance(number, int | float) or isinstance(number, bool):
        reason = f"`{name}` starts as a Python value, which a loop of the graph would not keep"
        raise script.refuse(reason, loop)
    reason = f"`{name}` starts as a number, and may not be float32 later"
    script.refuse_if("float64" in script.text, reason, start)
    reducers = _REDUCE_TO_SCALAR if isinstance(number, float) else _REDUCE_TO_REAL
    for node in inside(loop.body, ast.stmt):
        for value in _written(node, name):
            only_python = not isinstance(number, float) and python_type(script, value) is not None
            if only_python or not _is_scalar(script, value, name, reducers):
                what = script.source(value)
                kind = "scalar" if isinstance(number, float) else "real scalar"
                reason = f"`{name}` starts as `{number}`, and `{what}` may be no {kind}"
                raise script.refuse(reason, value)


def _real_starts(script: Script, loop: ast.For) -> Iterator[Splice]:
    """`0` as `0.0` where a loop carries it: a graph does not turn integers into real numbers."""
    block, index = script.block(loop)
    carried = uses(loop.body).writes
    for name, start in python_starts(block[:index]).items():
        if name in carried and isinstance(start, ast.Constant) and type(start.value) is int:
            yield replaced(script, start, f"{start.value}.0")


def _written(node: ast.stmt, name: str) -> Iterator[ast.expr]:
    """What a statement makes of a name; plain statements hold no others."""
    match node:
        case ast.AugAssign(target=ast.Name(id=written), value=value) if written == name:
            yield value
        case ast.Assign(targets=targets, value=value) if name in uses(targets).writes:
            yield value
        case ast.AnnAssign(target=ast.Name(id=written), value=ast.expr() as value):
            if written == name:
                yield value


def _is_scalar(
    script: Script, node: ast.expr | None, name: str, reducers: frozenset[str], depth: int = 5
) -> bool:
    """Whether a value is surely one number, as a tensor made by some functions or Python's."""
    if depth == 0:
        return False

    def are_scalars(values: Iterable[ast.expr | None]) -> bool:
        found = list(values)
        judged = [_is_scalar(script, value, name, reducers, depth - 1) for value in found]
        return bool(found) and all(judged)

    match node:
        case ast.Constant(value=float() | int()):
            return True
        case ast.Name(id=read) if read == name:
            return True
        case ast.UnaryOp(operand=operand):
            return are_scalars([operand])
        case ast.BinOp(left=left, right=right):
            return are_scalars([left, right])
        case ast.Call(func=called) if script.name(called) in reducers:
            return not _reduces_some_axes(node)
        case ast.Call():
            function = script.own_function(node)
            return function is not None and are_scalars(script.returned(function))
        case ast.Name() | ast.Attribute():
            number = python_type(script, node) in (PythonType.FLOAT, PythonType.INT)
            return number or are_scalars(script.possible_values(node))
    return False


def _reduces_some_axes(call: ast.Call) -> bool:
    return len(call.args) != 1 or bool(call.keywords)
