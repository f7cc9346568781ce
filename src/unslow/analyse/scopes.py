"""Which stack samples belong to training, by the loops in the sources as they ran."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from unslow.analyse.places import Line, line_of, lines_in, places_of
from unslow.model import Location, Phase, Run, Sample
from unslow.syntax.nodes import NamedFunction, StatementLoop, inside, last_name, lines_of, own_nodes
from unslow.syntax.tree import Tree, tree_of

FRAMES_KEPT = 6  # a longer stack is cut off, and with it perhaps the frame that holds the loop
_PLACES = 8192


class Sources:
    """The user's files as syntax trees; that of a file which does not parse is empty."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def tree(self, file: str) -> Tree:
        return tree_of(self._texts.get(file, ""))

    def around(self, place: Location) -> tuple[ast.AST, ...]:
        """The statements around a line, outermost first."""
        return _around(self.tree(place.file), place.line)

    def function(self, place: Location) -> NamedFunction | None:
        """The innermost function around a line."""
        return self.tree(place.file).function_around(place.line)

    def definition(self, place: Location) -> Location | None:
        """The `def` line of the function that a place names; None where the source has none."""
        function = self.function(place)
        if function is None or function.name != place.function:
            return None
        return Location(place.file, function.lineno, function.name)

    def loops(self, place: Location) -> list[StatementLoop]:
        """The loops around a line, outermost first, within its function."""
        return self.tree(place.file).loops_at(place.line)

    def repeated_with(self, place: Location) -> range:
        """The lines of the innermost loop around a line; only the line itself without a loop."""
        around = self.loops(place)
        return lines_of(around[-1]) if around else range(place.line, place.line + 1)

    def yields(self, place: Location) -> bool:
        """Whether a line is in a generator function: its time is the consumer's wait for data."""
        function = self.function(place)
        return function is not None and _generates(function)


@lru_cache(_PLACES)
def _around(model: Tree, line: int) -> tuple[ast.stmt, ...]:
    return tuple(model.around(line))


@lru_cache(_PLACES)
def _generates(function: NamedFunction) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function))


class _LoopLines(NamedTuple):
    """A loop around an update."""

    file: str
    lines: range
    fetches: bool  # its first line fetches what it iterates over

    def holds(self, place: Location) -> bool:
        return place.file == self.file and place.line in self.lines


class Scope:
    """The training loops of one process as ranges of lines."""

    def __init__(self, run: Run, process: int) -> None:
        self.sources = Sources(run.sources)
        self.training = run.loops_of(process)
        self._sampled = run.samples_of(process)

    @property
    def steps(self) -> int:
        return sum(loop.steps for loop in self.training)

    @property
    def seconds(self) -> float:
        return sum(loop.total for loop in self.training)

    @property
    def other(self) -> float:
        """Seconds between the recorded calls."""
        return sum(loop.phase(Phase.OTHER) for loop in self.training)

    @cached_property
    def samples(self) -> list[Sample]:
        """Samples in the training loops."""
        return [sample for sample in self._sampled if self.frames(sample)]

    @cached_property
    def _syntax(self) -> list[tuple[str, StatementLoop]]:
        """The loops around updates, with their files."""
        places = chain.from_iterable(map(places_of, self.training))
        return [(place.file, node) for place in places for node in self.sources.loops(place)]

    @cached_property
    def _loops(self) -> set[_LoopLines]:
        return {
            _LoopLines(file, lines_of(node), not isinstance(node, ast.While))
            for file, node in self._syntax
        }

    @cached_property
    def _fits(self) -> set[Line]:
        found: set[Line] = set()
        for loop in self.training:
            if loop.style == "keras" or not self.sources.loops(loop.update):
                found |= lines_in((loop.location, loop.update))
        return found

    def frames(self, sample: Sample) -> tuple[Location, ...]:
        """The innermost frames of a sample, up to the one in the outermost training loop.

        None where the sample is outside of all of them.
        """
        for depth in range(len(sample.stack), 0, -1):
            if self._is_inside(sample.stack[depth - 1]):
                return sample.stack[:depth]
        return sample.stack if len(sample.stack) >= FRAMES_KEPT else ()

    def _is_inside(self, place: Location) -> bool:
        return self.is_fit(place) or any(loop.holds(place) for loop in self._loops)

    def is_fit(self, place: Location) -> bool:
        """Whether a line calls `fit`, which is a loop in one line."""
        return line_of(place) in self._fits

    def trains(self, file: str, node: ast.stmt) -> bool:
        """Whether a loop is one of those around the updates."""
        return (file, node.lineno) in {(loop.file, loop.lines.start) for loop in self._loops}

    @cached_property
    def _prepared_by(self) -> dict[Line, set[str]]:
        """The functions that the first line of a loop calls to get what it iterates over."""
        found: dict[Line, set[str]] = {}
        for file, node in self._syntax:
            if isinstance(node, ast.For):
                called = {last_name(call.func) for call in inside(node.iter, ast.Call)}
                found[file, node.lineno] = called - {""}
        return found

    def prepares(self, sample: Sample) -> bool:
        """Whether a sample makes what a loop iterates over, which is done once per epoch."""
        return any(
            inner.function in self._prepared_by.get(line_of(outer), ())
            for inner, outer in pairwise(sample.stack)
        )

    @cached_property
    def _headers(self) -> set[Line]:
        return {(loop.file, loop.lines.start) for loop in self._loops if loop.fetches}

    def fetches(self, sample: Sample) -> bool:
        """Whether a sample waits for the next batch: at a `for` line, `__next__` or a generator."""
        return any(map(self._is_fetching, self.frames(sample)))

    def _is_fetching(self, place: Location) -> bool:
        is_header = place.function == "__next__" or line_of(place) in self._headers
        return is_header or self.sources.yields(place)
