"""How often a loop turns, where its source and its dataset say so; nothing is said of any other loop."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from unslow.syntax import Source, argument

_EPOCHS = 3  # the place of `epochs` in Keras's fit(x, y, batch_size, epochs)
_WRAPPERS = ("enumerate", "list", "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.std.tqdm")
_DEPTH = 4  # functions that call the function with the loop


def steps_of(source: Source, line: int, lengths: Mapping[int, int]) -> int | None:
    """The steps that the loop at a line makes in the whole run; `lengths` are those of datasets, by their loop's line.

    Each turn must make one step, whatever is tested on the way, and nothing may leave the loop early.
    """
    loop = next((node for node in source.every(ast.For) if node.lineno == line), None)
    if loop is None or not any(
        source.every_step(call) is loop for call in source.step_loops.get(loop, ())
    ):
        return None
    return _turns(source, loop, lengths, _DEPTH)


def epochs_of(source: Source, line: int) -> int | None:
    """The epochs that the call of fit() at a line is given by position."""
    for call in source.every(ast.Call):
        is_fit = isinstance(call.func, ast.Attribute) and call.func.attr == "fit"
        if is_fit and call.lineno <= line <= (call.end_lineno or call.lineno):
            number = source.number_of(argument(call, "epochs", _EPOCHS))
            return int(number) if number is not None else None
    return None


def _turns(source: Source, node: ast.AST, lengths: Mapping[int, int], depth: int) -> int | None:
    """How often a node runs: the turns of the loops around it, and those around the one call of its function."""
    own = [node] if isinstance(node, ast.For) else []
    total = 1
    for loop in [*own, *source.loops(node)]:
        count = (
            _count(source, loop, lengths)
            if isinstance(loop, ast.For) and not _leaves(loop)
            else None
        )
        if count is None:
            return None
        total *= count
    function = source.function(node)
    if function is None:
        return total
    callers = source.callers(function)
    if len(callers) != 1 or depth == 0:
        return None
    around = _turns(source, callers[0], lengths, depth - 1)
    return total * around if around is not None else None


def _count(source: Source, loop: ast.For, lengths: Mapping[int, int]) -> int | None:
    if loop.lineno in lengths:
        return lengths[loop.lineno]
    turns: ast.expr = loop.iter
    while isinstance(turns, ast.Call) and turns.args and source.name(turns.func) in _WRAPPERS:
        turns = turns.args[0]
    if isinstance(turns, ast.List | ast.Tuple) and not any(
        isinstance(item, ast.Starred) for item in turns.elts
    ):
        return len(turns.elts)
    if not isinstance(turns, ast.Call) or source.name(turns.func) != "range" or turns.keywords:
        return None
    ends = [source.number_of(end) for end in turns.args]
    known = [int(end) for end in ends if end is not None and end == int(end)]
    if len(known) != len(ends) or not 1 <= len(known) <= 3 or (len(known) == 3 and known[2] == 0):
        return None
    return len(range(*known))


def _leaves(loop: ast.For) -> bool:
    return any(isinstance(node, ast.Break | ast.Return) for node in ast.walk(loop))
