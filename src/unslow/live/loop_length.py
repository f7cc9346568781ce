"""How many steps a loop will make, where its source and its dataset say so."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass

from unslow.analyse.grouping import known
from unslow.syntax import Source, argument

_EPOCHS = 3  # the position of `epochs` in Keras's fit(x, y, batch_size, epochs)
_WRAPPERS = ("enumerate", "list", "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.std.tqdm")
_DEPTH = 4  # functions that call the function with the loop

Lengths = Mapping[int, int]  # of datasets, by the line of the loop over them


def steps_of(source: Source, line: int, lengths: Lengths) -> int | None:
    """The steps that the loop at a line makes in the whole run, or None.

    Each iteration must make one step, and nothing may leave the loop early.
    """
    loop = next((node for node in source.every(ast.For) if node.lineno == line), None)
    if loop is None:
        return None
    steps = source.step_loops.get(loop, ())
    if not any(source.every_step(call) is loop for call in steps):
        return None
    return _Counter(source, lengths).runs(loop, _DEPTH)


def epochs_of(source: Source, line: int) -> int | None:
    """The epochs that the call of fit() at a line is given by position."""
    for call in source.every(ast.Call):
        is_fit = isinstance(call.func, ast.Attribute) and call.func.attr == "fit"
        if is_fit and call.lineno <= line <= (call.end_lineno or call.lineno):
            number = source.number_of(argument(call, "epochs", _EPOCHS))
            return None if number is None else int(number)
    return None


@dataclass(frozen=True)
class _Counter:
    source: Source
    lengths: Lengths

    def runs(self, node: ast.AST, depth: int) -> int | None:
        """How often a node runs: by the loops around it and around the one call of its function."""
        loops: list[ast.AST] = [*self.source.loops(node)]
        if isinstance(node, ast.For):
            loops.append(node)
        counts = [*map(self.iterations, loops), self._calls(node, depth)]
        found = known(counts)
        return math.prod(found) if len(found) == len(counts) else None

    def _calls(self, node: ast.AST, depth: int) -> int | None:
        function = self.source.function(node)
        if function is None:
            return 1
        callers = self.source.callers(function)
        if len(callers) != 1 or depth == 0:
            return None
        return self.runs(callers[0], depth - 1)

    def iterations(self, loop: ast.AST) -> int | None:
        if not isinstance(loop, ast.For) or _leaves(loop):
            return None
        if loop.lineno in self.lengths:
            return self.lengths[loop.lineno]
        over: ast.expr = loop.iter
        while isinstance(over, ast.Call) and self._wraps(over):
            over = over.args[0]
        if isinstance(over, ast.List | ast.Tuple):
            return _elements(over)
        if isinstance(over, ast.Call) and self.source.name(over.func) == "range":
            return self._range(over)
        return None

    def _wraps(self, call: ast.Call) -> bool:
        return bool(call.args) and self.source.name(call.func) in _WRAPPERS

    def _range(self, call: ast.Call) -> int | None:
        ends = [self.source.number_of(end) for end in call.args]
        whole = [int(end) for end in ends if end is not None and end == int(end)]
        try:
            return len(range(*whole)) if len(whole) == len(ends) else None
        except (TypeError, ValueError):  # no range that Python would take
            return None


def _elements(display: ast.List | ast.Tuple) -> int | None:
    starred = any(isinstance(item, ast.Starred) for item in display.elts)
    return None if starred else len(display.elts)


def _leaves(loop: ast.For) -> bool:
    return any(isinstance(node, ast.Break | ast.Return) for node in ast.walk(loop))
