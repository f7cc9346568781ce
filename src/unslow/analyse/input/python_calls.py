"""Python functions that TensorFlow calls from its graphs: how long they ran, and in which of their lines."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.scopes import Sources
from unslow.model import Event, Location, Loop, Run

_FEWEST = 8  # samples: fewer may be chance

Stack = tuple[Location, ...]


@dataclass(frozen=True)
class CalledBack:
    """A function that compiled steps call themselves, outside of every pipeline."""

    function: Location
    calls: int
    seconds: float
    hottest: Location


def called_back(run: Run, loop: Loop) -> list[CalledBack]:
    """Each function gets another token in every graph that calls it."""
    stages = (
        stage
        for event in run.of("dataset")
        if event.process == loop.process
        for stage in event.data["stages"]
    )
    fetching = {str(token) for stage in stages for token in stage.get("tokens", ())}
    by_token: dict[str, list[Event]] = defaultdict(list)
    for event in run.of("python_function"):
        token = str(event.data["token"])
        if (
            event.process == loop.process
            and token not in fetching
            and run.sources.get(str(event.data["place"][0]))
        ):
            by_token[token].append(event)
    by_place: dict[Location, list[str]] = defaultdict(list)
    for token, events in by_token.items():
        by_place[say.place(run, events[-1].data["place"])].append(token)
    return [
        _called_back(run, loop, place, [by_token[token] for token in tokens])
        for place, tokens in by_place.items()
    ]


def _called_back(
    run: Run, loop: Loop, function: Location, totals: Sequence[Sequence[Event]]
) -> CalledBack:
    tokens = {str(events[-1].data["token"]) for events in totals}
    return CalledBack(
        function=function,
        calls=round(sum(_during(events, loop, "count") for events in totals)),
        seconds=sum(_during(events, loop, "took") for events in totals),
        hottest=say.place(run, hottest(run, lines_inside(run, loop.process, tokens)) or function),
    )


def _during(events: Sequence[Event], loop: Loop, key: str) -> float:
    """How much a running total rose while a loop was under way."""
    before = [float(event.data[key]) for event in events if event.time < loop.start]
    after = [float(event.data[key]) for event in events if event.time <= loop.stop]
    return max(after, default=0.0) - max(before, default=0.0)


def lines_inside(run: Run, process: int, tokens: set[str]) -> Counter[Stack]:
    """The time of some functions by the user's frames (innermost first).

    Samples where there are enough of them, of the threads that they wait for where they have no line of the user's;
    calls too short to be sampled were watched line by line now and then.
    """
    last: dict[tuple[str, str, Stack], float] = {}
    for event in run.of("python_line"):
        if event.process == process and event.data["token"] in tokens:
            stack = tuple(say.place(run, place) for place in event.data["stack"])
            last[str(event.data["token"]), str(event.data.get("way", "sampled")), stack] = float(
                event.data["count"]
            )
    ways: dict[str, Counter[Stack]] = {
        "sampled": Counter(),
        "traced": Counter(),
        "workers": Counter(),
    }
    for (_, way, found), count in last.items():
        ways[way][found] += round(count * 1000)
    sampled = ways["sampled"] or ways["workers"]
    return (
        sampled if sum(sampled.values()) >= _FEWEST * 1000 or not ways["traced"] else ways["traced"]
    )


def by_workers(run: Run, process: int, tokens: set[str]) -> bool:
    """Whether some functions only wait for other threads of Python, which do the work."""
    ways = {
        str(e.data.get("way"))
        for e in run.of("python_line")
        if e.process == process and e.data["token"] in tokens
    }
    return ways == {"workers"}


def hottest(run: Run, counts: Counter[Stack]) -> Location | None:
    """From the outermost line inwards, as long as what it calls weighs more than what it does itself."""
    if not counts:
        return None
    held: Counter[Location] = Counter()
    for stack, count in counts.items():
        held.update(dict.fromkeys(stack, count))
    way: Stack = ()
    while True:
        inner: Counter[Stack] = Counter()
        own = 0
        for stack, count in counts.items():
            if stack[len(stack) - len(way) :] != way:
                continue
            if len(stack) == len(way):
                own += count
            else:
                inner[stack[len(stack) - len(way) - 1 :]] += count
        if not inner or (way and inner.most_common(1)[0][1] <= own):
            return _in_body(run, way[0], held) if way else None
        way = inner.most_common(1)[0][0]


def _in_body(run: Run, found: Location, held: Counter[Location]) -> Location:
    """For the first line of a loop the dearest line of its body: what repeats is what can be changed."""
    for node in ast.walk(Sources(run.sources).tree(found.file) or ast.Module([], [])):
        if isinstance(node, ast.For | ast.While) and node.lineno == found.line:
            first, last = node.body[0].lineno, node.end_lineno or 0
            body = [
                place for place in held if place.file == found.file and first <= place.line <= last
            ]
            return max(body, key=lambda place: held[place], default=found)
    return found
