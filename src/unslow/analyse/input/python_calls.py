"""Python functions that TensorFlow calls from its graphs: how long they ran, and in which lines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.grouping import grouped
from unslow.analyse.input.dataset_variants import built_stages
from unslow.analyse.scopes import Sources
from unslow.facts.data import Dataset, PythonFunction, PythonLine
from unslow.model import Location, Loop, Run
from unslow.syntax.nodes import lines_of

READS = (Dataset, PythonFunction, PythonLine)
_FEWEST_SAMPLES = 8  # fewer may be chance
# Seconds of a call below which the probe traces it now and then, because samples miss its inside.
# The number is the probe's; a test holds the two together.
SHORT_CALL = 0.002

Stack = tuple[Location, ...]
F = TypeVar("F", PythonFunction, PythonLine)


@dataclass(frozen=True)
class CalledBack:
    """A function that compiled steps call themselves, outside every pipeline."""

    function: Location
    calls: int
    seconds: float
    hottest: Location


def called_back(run: Run, loop: Loop) -> list[CalledBack]:
    stages = built_stages(run, loop.process)
    fetching = set(chain.from_iterable(stage.tokens for stage in stages))
    functions = run.facts(PythonFunction, loop.process)
    users = [one for one in functions if run.sources.get(one.place.file)]
    in_steps = [one for one in users if one.token not in fetching]
    by_place = grouped(in_steps, lambda one: say.place(run, one.place))
    return [_called_back(run, loop, place, facts) for place, facts in by_place.items()]


def _called_back(
    run: Run, loop: Loop, function: Location, facts: Sequence[PythonFunction]
) -> CalledBack:
    # A function has another token in every graph that calls it.
    tokens = grouped(facts, lambda fact: fact.token)
    ended = [_at(totals, loop.stop) for totals in tokens.values()]
    begun = [_at(totals, loop.start) for totals in tokens.values()]
    calls, seconds = np.sum(ended, axis=0) - np.sum(begun, axis=0)
    hot = hottest(run, lines_inside(run, loop.process, tokens)) or function
    return CalledBack(function, round(calls), float(seconds), say.place(run, hot))


def _at(totals: Sequence[PythonFunction], time: float) -> tuple[float, float]:
    """Calls and seconds up to a time, from running totals."""
    known = ((fact.count, fact.took) for fact in reversed(totals) if fact.time <= time)
    return next(known, (0.0, 0.0))


def lines_inside(run: Run, process: int, tokens: Collection[str]) -> Counter[Stack]:
    """The time of some functions by the user's frames, innermost first.

    Samples where there are enough of them; where the functions have no line of the user's, samples
    of the threads that they wait for. Calls too short to be sampled were traced now and then:
    samples of those fall on the lines that release Python's lock.
    """
    facts = _of(run.facts(PythonLine, process), tokens)
    last = {(fact.token, fact.way, fact.stack): fact for fact in facts}
    ways: dict[str, Counter[Stack]] = defaultdict(Counter)
    for fact in last.values():
        stack = tuple(say.place(run, place) for place in fact.stack)
        ways[fact.way][stack] += round(fact.count * 1000)
    sampled, traced = ways["sampled"] or ways["workers"], ways["traced"]
    if not traced:
        return sampled
    is_enough = sampled.total() >= _FEWEST_SAMPLES * 1000
    return sampled if is_enough and not _are_short(run, process, tokens) else traced


def _are_short(run: Run, process: int, tokens: Collection[str]) -> bool:
    """Whether a call usually ends before a sample can be taken inside of it."""
    totals = {one.token: one for one in _of(run.facts(PythonFunction, process), tokens)}
    calls = sum(one.count for one in totals.values())
    return sum(one.took for one in totals.values()) < calls * SHORT_CALL


def _of(facts: Iterable[F], tokens: Collection[str]) -> list[F]:
    """Facts about some functions."""
    return [fact for fact in facts if fact.token in tokens]


def by_workers(run: Run, process: int, tokens: Collection[str]) -> bool:
    """Whether some functions only wait for other Python threads, which do the work."""
    ways = {fact.way for fact in _of(run.facts(PythonLine, process), tokens)}
    return ways == {"workers"}


def hottest(run: Run, counts: Counter[Stack]) -> Location | None:
    """From the outermost line inwards, while what it calls takes longer than the line itself."""
    sources = Sources(run.sources)
    path: Stack = ()
    while inner := _one_deeper(counts, path):
        deepest = _most_in_one_loop(sources, inner)
        if path and inner[deepest] <= counts[path]:
            break
        path = deepest
    return _in_body(run, path[0], counts) if path else None


def _one_deeper(counts: Counter[Stack], path: Stack) -> Counter[Stack]:
    """The time below the line that a path leads to, by the next line inwards."""
    inner: Counter[Stack] = Counter()
    for stack, count in counts.items():
        depth = len(stack) - len(path)
        if depth > 0 and stack[depth:] == path:
            inner[stack[depth - 1 :]] += count
    return inner


def _most_in_one_loop(sources: Sources, counts: Counter[Stack]) -> Stack:
    """The hottest line of the loop whose lines take most together; a line outside stands alone.

    The time of a short loop spreads over its lines: none of them may be the hottest by itself.
    """
    loops = grouped(counts, lambda stack: (stack[0].file, sources.repeated_with(stack[0])))
    hottest_loop = max(loops.values(), key=lambda stacks: sum(counts[stack] for stack in stacks))
    return max(hottest_loop, key=lambda stack: counts[stack])


def _in_body(run: Run, found: Location, counts: Counter[Stack]) -> Location:
    """For the header of a loop the hottest line of its body, unless the header itself is hotter.

    Time in a short loop spreads over its lines; in `for row in reader: yield row` it is the
    reader's.
    """
    held: Counter[Location] = Counter()
    for stack, count in counts.items():
        held.update(dict.fromkeys(stack, count))
    tree = Sources(run.sources).tree(found.file)
    headers = [loop for loop in tree.loops_at(found.line) if loop.lineno == found.line]
    for loop in headers:
        lines = range(loop.body[0].lineno, lines_of(loop).stop)
        body = [place for place in held if place.file == found.file and place.line in lines]
        if sum(held[place] for place in body) >= held[found]:
            return max(body, key=lambda place: held[place], default=found)
    return found
