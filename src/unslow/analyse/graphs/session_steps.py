"""The runs of a session's training step, read back from the steps that were looked at closely."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from unslow.cause import CannotJudge
from unslow.model import Event, Location, Loop, Phase, Run

_LOOKS = 2  # steps that must agree
_SHORT = 20  # steps of a loop that may end before it was looked at


@dataclass(frozen=True)
class Site:
    """One line that runs the session in every step, as the looks saw it."""

    location: Location
    stack: tuple[Location, ...]
    fetches: tuple[str, ...]
    updates: bool
    per_step: float
    seconds: float  # of one run
    share: float  # of all the seconds that the step's runs take
    own: float  # seconds of one run's kernels that the update, or the run that it is fed as, does not need anyway
    mergeable: bool  # every look found it fed as the update before or after it
    update: tuple[str, int] | None  # file and line of that update, where the looks name one
    like: (
        tuple[str, int] | None
    )  # file and line whose run it is fed as, where the update is fed otherwise
    before: bool  # fed as the update after it
    after: bool
    random: bool
    draws: bool
    writes: bool
    depends: bool
    reads_own: bool


def looks(run: Run, loop: Loop) -> list[list[Event]]:
    """The runs of each step that was looked at, in order."""
    found: dict[int, list[Event]] = defaultdict(list)
    for event in run.of("run"):
        if loop.holds(event):
            found[int(event.data["cycle"])].append(event)
    return [found[cycle] for cycle in sorted(found)]


def looked_at(run: Run) -> Iterator[Loop]:
    """The loops of a session of which some steps were looked at closely."""
    for loop in run.loops:
        if loop.style != "session":
            continue
        if len(looks(run, loop)) >= _LOOKS:
            yield loop
        elif loop.steps > _SHORT:
            raise CannotJudge("no step of the session could be looked at closely")


def sites(run: Run, loop: Loop) -> list[Site]:
    """The lines that run the session in this loop, in the order in which the step goes through them."""
    steps = looks(run, loop)
    by_line: dict[tuple[Any, ...], list[Event]] = defaultdict(list)
    for step in steps:
        for event in step:
            by_line[_key(event)].append(event)
    whole = sum(float(event.data["took"]) for step in steps for event in step) or 1.0
    return [_site(run, events, steps, whole) for events in by_line.values()]


def _key(event: Event) -> tuple[Any, ...]:
    stack = event.data.get("stack") or [["", 0, ""]]
    return (stack[0][0], stack[0][1], bool(event.data.get("updates")))


def _site(
    run: Run, events: Sequence[Event], steps: Sequence[Sequence[Event]], whole: float
) -> Site:
    stack = tuple(
        Location(f, int(n), g, run.line(f, int(n))) for f, n, g in events[0].data.get("stack") or ()
    )
    seconds = median(float(event.data["took"]) for event in events)
    flags = {
        name: any(event.data.get(name) for event in events)
        for name in ("random", "draws", "writes", "depends", "reads_own")
    }
    return Site(
        location=stack[0] if stack else Location("", 0),
        stack=stack,
        fetches=tuple(
            dict.fromkeys(name for event in events for name in event.data.get("fetches") or ())
        ),
        updates=bool(events[0].data.get("updates")),
        per_step=len(events) / max(1, len(steps)),
        seconds=seconds,
        share=sum(float(event.data["took"]) for event in events) / whole,
        own=median(_own(event) for event in events),
        mergeable=all(
            event.data.get("same_before") or event.data.get("same_after") for event in events
        ),
        update=_update(events),
        like=_like(events, steps),
        before=all(event.data.get("same_before") for event in events),
        after=all(event.data.get("same_after") for event in events),
        **flags,
    )


def _update(events: Sequence[Event]) -> tuple[str, int] | None:
    found = {
        (str(file), int(line)) for event in events for file, line, _ in event.data.get("with") or ()
    }
    return found.pop() if len(found) == 1 else None


def _like(events: Sequence[Event], steps: Sequence[Sequence[Event]]) -> tuple[str, int] | None:
    """The one other line whose run is fed as these are in every step; None where there is none, or several."""
    by_place = {
        (other.data["cycle"], other.data["index"]): other for step in steps for other in step
    }
    found = {
        _key(by_place.get((event.data["cycle"], event.data.get("like")), event))[:2]
        for event in events
    }
    return None if len(found) > 1 or found == {_key(events[0])[:2]} else found.pop()


def _own(event: Event) -> float:
    """Seconds that a run would add to the update's: its own kernels, or a part by the number of its own ops."""
    data = event.data
    if data.get("timed"):
        return min(float(data["took"]), float(data.get("own") or 0.0))
    return float(data["took"]) * (1 - float(data.get("shared") or 0.0))


def run_seconds(loop: Loop) -> float:
    """What all runs of the loop take, the first step left out: seconds per step in the middle, times the steps."""
    rows = sorted(float(row[Phase.RUN]) for row in loop.phases[1:])
    return rows[len(rows) // 2] * loop.steps if rows else 0.0


def fetched(sources: Mapping[str, str], where: Location) -> str:
    """What a line fetches, as the user wrote it; nothing where that cannot be told."""
    try:
        tree = ast.parse(sources.get(where.file, ""))
    except (SyntaxError, ValueError):
        return ""
    for node in _calls(tree, where.line):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "run" and node.args:
            return ast.unparse(node.args[0])
        if isinstance(node.func, ast.Attribute) and node.func.attr == "eval":
            return ast.unparse(node.func.value)
    return ""


def _calls(tree: ast.AST, line: int) -> Iterable[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno):
            yield node
