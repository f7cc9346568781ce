"""Python functions that TensorFlow calls from its graphs: how long they ran, and in which lines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from unslow.analyse import wording as say
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


@dataclass(frozen=True)
class CalledBack:
    """A function that compiled steps call themselves, outside every pipeline."""

    function: Location
    calls: int
    seconds: float
    hottest: Location


def called_back(run: Run, loop: Loop) -> list[CalledBack]:
    fetching: set[str] = set()
    for dataset in run.facts(Dataset, loop.process):
        fetching.update(*(stage.tokens for stage in dataset.stages))
    # A function has another token in every graph that calls it.
    by_place: dict[Location, dict[str, list[PythonFunction]]] = defaultdict(dict)
    for fact in run.facts(PythonFunction, loop.process):
        if fact.token not in fetching and run.sources.get(fact.place.file):
            tokens = by_place[say.place(run, fact.place)]
            tokens.setdefault(fact.token, []).append(fact)
    return [_called_back(run, loop, place, tokens) for place, tokens in by_place.items()]


def _called_back(
    run: Run, loop: Loop, function: Location, tokens: dict[str, list[PythonFunction]]
) -> CalledBack:
    calls, seconds = 0, 0.0
    for totals in tokens.values():
        before, after = _at(totals, loop.start), _at(totals, loop.stop)
        calls += after.count - before.count
        seconds += after.took - before.took
    hot = hottest(run, lines_inside(run, loop.process, tokens))
    return CalledBack(function, calls, seconds, say.place(run, hot or function))


def _at(totals: Sequence[PythonFunction], time: float) -> PythonFunction:
    """A running total as it was at a time."""
    nothing = totals[0].replace(count=0, took=0.0)
    return next((fact for fact in reversed(totals) if fact.time <= time), nothing)


def lines_inside(run: Run, process: int, tokens: Collection[str]) -> Counter[Stack]:
    """The time of some functions by the user's frames, innermost first.

    Samples where there are enough of them; where the functions have no line of the user's, samples
    of the threads that they wait for. Calls too short to be sampled were traced now and then:
    samples of those fall on the lines that release Python's lock.
    """
    last: dict[tuple[str, str, Stack], float] = {}
    for fact in run.facts(PythonLine, process):
        if fact.token in tokens:
            stack = tuple(say.place(run, place) for place in fact.stack)
            last[fact.token, fact.way, stack] = fact.count
    ways: dict[str, Counter[Stack]] = defaultdict(Counter)
    for (_, way, stack), count in last.items():
        ways[way][stack] += round(count * 1000)
    sampled = ways["sampled"] or ways["workers"]
    enough = sum(sampled.values()) >= _FEWEST_SAMPLES * 1000 and not _are_short(
        run, process, tokens
    )
    return sampled if enough or not ways["traced"] else ways["traced"]


def _are_short(run: Run, process: int, tokens: Collection[str]) -> bool:
    """Whether a call usually ends before a sample can be taken inside of it."""
    totals = {one.token: one for one in run.facts(PythonFunction, process) if one.token in tokens}
    calls = sum(one.count for one in totals.values())
    return sum(one.took for one in totals.values()) < calls * SHORT_CALL


def by_workers(run: Run, process: int, tokens: Collection[str]) -> bool:
    """Whether some functions only wait for other Python threads, which do the work."""
    ways = {fact.way for fact in run.facts(PythonLine, process) if fact.token in tokens}
    return ways == {"workers"}


def hottest(run: Run, counts: Counter[Stack]) -> Location | None:
    """From the outermost line inwards, while what it calls takes longer than the line itself."""
    sources = Sources(run.sources)
    path: Stack = ()
    while True:
        inner: Counter[Stack] = Counter()
        own = 0
        for stack, count in counts.items():
            depth = len(stack) - len(path)
            if stack[depth:] != path:
                continue
            if depth == 0:
                own += count
            else:
                inner[stack[depth - 1 :]] += count
        if not inner:
            return _in_body(run, path[0], counts) if path else None
        deepest = _most_in_one_loop(sources, inner)
        if path and inner[deepest] <= own:
            return _in_body(run, path[0], counts)
        path = deepest


def _most_in_one_loop(sources: Sources, counts: Counter[Stack]) -> Stack:
    """The hottest line of the loop whose lines take most together; a line outside stands alone.

    The time of a short loop spreads over its lines: none of them may be the hottest by itself.
    """
    together: Counter[tuple[str, int]] = Counter()
    held: dict[tuple[str, int], Counter[Stack]] = defaultdict(Counter)
    for stack, count in counts.items():
        loops = sources.loops(stack[0])
        key = (stack[0].file, loops[-1].lineno if loops else stack[0].line)
        together[key] += count
        held[key][stack] = count
    return held[together.most_common(1)[0][0]].most_common(1)[0][0]


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
