"""Lines of Python that take tensors apart element by element."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from unslow.analyse.graphs.eager_calls import Region, outside_steps, seconds_at
from unslow.analyse.grouping import largest_of_each
from unslow.analyse.host.hot_lines import seconds_around
from unslow.analyse.places import line_of
from unslow.analyse.run.tallies import LineTotal, line_totals
from unslow.facts.eager import Index
from unslow.model import Location, Loop, Run

_PER_STEP = 8  # indexed elements; a judgement: fewer are no loop over a tensor
_OUTSIDE = 200  # indexed elements outside of steps: they take about 10 ms
_PER_TENSOR = 4  # elements of one tensor: one or two of each are no loop over its elements


@dataclass(frozen=True)
class IndexedLine:
    """A line that indexes tensors in a loop."""

    location: Location
    count: int  # elements
    each: float  # seconds of one index
    seconds: float  # of the loop around the line
    steps: int = 0  # of the training loop; 0 outside of steps
    stretch: str = ""  # of the account, outside of steps


def indexed_in_steps(run: Run) -> list[IndexedLine]:
    """One entry per line: a line counts in the training loop around it that takes longest."""
    found = chain.from_iterable(_one_per_loop(_in_loop(run, loop)) for loop in run.loops)
    by_line = largest_of_each(found, lambda line: line_of(line.location), lambda line: line.seconds)
    return list(by_line.values())


def indexed_outside_steps(run: Run) -> Iterator[IndexedLine]:
    """The same before the training, after it, or where nothing trains."""
    for region in outside_steps(run):
        yield from _one_per_loop(_in_region(run, region))


def _in_loop(run: Run, loop: Loop) -> Iterator[IndexedLine]:
    steps = max(1, loop.steps)
    for total in line_totals(run, loop, Index):
        if total.count >= _PER_STEP * steps and _is_taken_apart(total):
            seconds = max(seconds_around(run, loop.process, total.location), total.seconds)
            each = total.seconds / total.count
            yield IndexedLine(total.location, total.count, each, seconds, steps=steps)


def _in_region(run: Run, region: Region) -> Iterator[IndexedLine]:
    for total in line_totals(run, region, Index):
        if total.count >= _OUTSIDE and _is_taken_apart(total):
            seconds = max(seconds_at(run, region, total.location), total.seconds)
            each = total.seconds / total.count
            yield IndexedLine(total.location, total.count, each, seconds, stretch=region.stretch)


def _is_taken_apart(total: LineTotal[Index]) -> bool:
    return not total.amount or total.count >= _PER_TENSOR * total.amount


def _one_per_loop(found: Iterable[IndexedLine]) -> list[IndexedLine]:
    """The line of each loop with the most elements: indices in one loop share its seconds."""
    kept: dict[tuple[str, float], IndexedLine] = {}
    for line in sorted(found, key=lambda each: (-each.seconds, -each.count)):
        kept.setdefault((line.location.file, round(line.seconds, 9)), line)
    return list(kept.values())
