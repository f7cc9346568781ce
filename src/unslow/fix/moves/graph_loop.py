"""Make a Python loop a loop of the graph: `tf.range` for `range`."""

from __future__ import annotations

import ast
from contextlib import suppress

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import replaced, spelling
from unslow.fix.moves.carried_numbers import real_starts, require_scalar
from unslow.fix.moves.extract_function import read_afterwards
from unslow.fix.moves.shapes import is_arithmetic, is_call, mentions
from unslow.fix.moves.tensor_arguments import INDEXING, STRUCTURAL
from unslow.fix.moves.tensor_array import Collection, arrays, collected, python_starts
from unslow.fix.moves.while_loop import while_loop
from unslow.syntax.dataflow import flow
from unslow.syntax.library import TENSOR_LIKE
from unslow.syntax.nodes import (
    COMPREHENSIONS,
    STATEMENT_LOOPS,
    NamedFunction,
    header,
    is_stored,
    last_name,
    method_of,
    of_type,
    parameter_names,
    words,
)
from unslow.syntax.uses import uses

_FILLS = ("append", "extend", "insert", "update", "pop", "add", "setdefault")
_FEWEST_TURNS = 16  # a judgement, as in the finding: unrolling fewer is no burden
_MOST_CALLS = 5  # from a compiled function to the loop; a judgement, two are usual
_TAKES_COUNTERS = INDEXING | words(
    "cast print convert_to_tensor equal not_equal less greater less_equal greater_equal slice"
    " gather_nd strided_slice write read"
)
# Functions whose result has another shape in each turn if it takes the last one's.
_GROWING = words("concat stack pad tile repeat expand_dims")
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
    splices = [*imports, *real_starts(script, loop)]
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
        takers = takers and not _needs_number(script, node)
        script.refuse_if(not takers, f"`{name}` may be needed as a Python number there", node)


def _needs_number(script: Script, node: ast.Name) -> bool:
    """Whether a function is given the counter itself for what must be a number of Python's.

    Beside a real tensor a Python number becomes real as well, while a tensor stays an integer.
    """
    call = script.parents[node]
    while isinstance(call, ast.BinOp | ast.UnaryOp):
        call = script.parents[call]
    if isinstance(call, ast.keyword):
        call = script.parents[call] if call.arg not in STRUCTURAL else call
    if isinstance(call, ast.Call):
        return last_name(call.func) not in _TAKES_COUNTERS
    return isinstance(call, ast.keyword)


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
    for node in of_type(loop.body, ast.Assign):
        for name in sorted(carried & uses(node.targets).writes & uses([node.value]).reads):
            grows = isinstance(node.value, ast.Call) and last_name(node.value.func) in _GROWING
            reason = f"`{name}` gets another shape in each turn, which a loop of the graph refuses"
            script.refuse_if(grows, reason, node)
    starts = python_starts(block[:index])
    for name in sorted(carried & starts.keys()):
        require_scalar(script, loop, name, starts[name])
    return carried
