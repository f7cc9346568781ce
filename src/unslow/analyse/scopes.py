"""Which stack samples belong to training, by the loops in the sources as they ran."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import pairwise

from unslow.model import Location, Run, Sample
from unslow.syntax.nodes import NamedFunction, StatementLoop, own_nodes
from unslow.syntax.tree import Tree

_FRAMES_KEPT = 6  # a longer stack is cut off, and with it perhaps the frame that holds the loop
_FILES = 64  # trees that are kept: a thousand workers run the same few files
_PLACES = 8192


class Sources:
    """The user's files as syntax trees; a file that does not parse has none."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def _model(self, file: str) -> Tree | None:
        return _parsed(self._texts.get(file, ""))

    def tree(self, file: str) -> ast.Module | None:
        model = self._model(file)
        return model.tree if model is not None else None

    def around(self, place: Location) -> tuple[ast.AST, ...]:
        """The statements around a line, outermost first."""
        model = self._model(place.file)
        return _around(model, place.line) if model is not None else ()

    def function(self, place: Location) -> NamedFunction | None:
        """The innermost function around a line."""
        model = self._model(place.file)
        return model.function_around(place.line) if model is not None else None

    def loops(self, place: Location) -> list[StatementLoop]:
        """The loops around a line, outermost first, within its function."""
        model = self._model(place.file)
        return model.loops_at(place.line) if model is not None else []

    def yields(self, place: Location) -> bool:
        """Whether a line is in a generator function: its time is the consumer's wait for data."""
        function = self.function(place)
        return function is not None and _generates(function)


@lru_cache(_FILES)
def _parsed(text: str) -> Tree | None:
    try:
        return Tree("", text)
    except (SyntaxError, ValueError, RecursionError):
        return None


@lru_cache(_PLACES)
def _around(model: Tree, line: int) -> tuple[ast.stmt, ...]:
    return tuple(model.around(line))


@lru_cache(_PLACES)
def _generates(function: NamedFunction) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function))


def _called(expression: ast.expr) -> Iterator[str]:
    """The names of the functions and methods that an expression calls itself."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Call):
            function = node.func
            yield function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)


class Scope:
    """The training loops of one process as ranges of lines."""

    def __init__(self, run: Run, process: int) -> None:
        self.sources = Sources(run.sources)
        self.training = run.loops_of(process)

    @cached_property
    def _loops(self) -> set[tuple[str, int, int, bool]]:
        """Each loop around an update: file, first and last line, whether its first line fetches."""
        return {
            (place.file, node.lineno, node.end_lineno or 0, not isinstance(node, ast.While))
            for loop in self.training
            for place in (loop.location, loop.update, *loop.stack)
            for node in self.sources.loops(place)
        }

    @cached_property
    def _lines(self) -> set[tuple[str, int]]:
        """Calls of fit, which are loops in one line."""
        return {
            (place.file, place.line)
            for loop in self.training
            if loop.style == "keras" or not self.sources.loops(loop.update)
            for place in (loop.location, loop.update)
        }

    def depth(self, sample: Sample) -> int | None:
        """The frame (0 is the innermost) in the outermost training loop; None if none is."""
        for depth in range(len(sample.stack) - 1, -1, -1):
            if self._inside(sample.stack[depth]):
                return depth
        return len(sample.stack) - 1 if len(sample.stack) >= _FRAMES_KEPT else None

    def _inside(self, place: Location) -> bool:
        if (place.file, place.line) in self._lines:
            return True
        return any(
            file == place.file and first <= place.line <= last
            for file, first, last, _ in self._loops
        )

    def trains(self, file: str, node: ast.stmt) -> bool:
        """Whether a loop is one of those around the updates."""
        return any(file == other and first == node.lineno for other, first, _, _ in self._loops)

    @cached_property
    def _prepared_by(self) -> dict[tuple[str, int], set[str]]:
        """The functions that the first line of a loop calls to get what it iterates over."""
        found: dict[tuple[str, int], set[str]] = {}
        for loop in self.training:
            for place in (loop.location, loop.update, *loop.stack):
                for node in self.sources.loops(place):
                    if isinstance(node, ast.For):
                        found[place.file, node.lineno] = set(_called(node.iter))
        return found

    def prepares(self, sample: Sample) -> bool:
        """Whether a sample makes what a loop iterates over, which is done once per epoch."""
        return any(
            inner.function in self._prepared_by.get((outer.file, outer.line), ())
            for inner, outer in pairwise(sample.stack)
        )

    def fetches(self, sample: Sample, depth: int) -> bool:
        """Whether a sample waits for the next batch: at a `for` line, `__next__` or a generator."""
        headers = {(file, first) for file, first, _, fetching in self._loops if fetching}
        return any(
            place.function == "__next__"
            or (place.file, place.line) in headers
            or self.sources.yields(place)
            for place in sample.stack[: depth + 1]
        )
