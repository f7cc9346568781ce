"""What happened at a line during a loop, from the running totals that the recorder wrote."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from unslow.analyse import wording as say
from unslow.facts.schema import Stack, Tally
from unslow.model import Location, Run

T = TypeVar("T", bound=Tally)


@dataclass(frozen=True)
class LineTotal(Generic[T]):
    """Everything of one kind at one line while a loop ran."""

    location: Location
    count: int
    seconds: float
    amount: float
    fact: T  # the last one, for the kind's own fields


class Interval(Protocol):
    """A loop, or any other part of a process's life."""

    @property
    def process(self) -> int: ...
    @property
    def start(self) -> float: ...
    @property
    def stop(self) -> float: ...


def line_totals(run: Run, loop: Interval, kind: type[T]) -> list[LineTotal[T]]:
    """The most expensive line first; totals from before the interval are subtracted."""
    by_line: dict[Stack, list[T]] = defaultdict(list)
    for fact in run.facts(kind, loop.process):
        if fact.stack:
            by_line[fact.stack].append(fact)
    found = []
    for facts in by_line.values():
        before, last = _around(loop, facts)
        if last is None or last.count <= (before.count if before else 0):
            continue
        start = before or kind()
        found.append(
            LineTotal(
                location=say.place(run, last.stack[0]),
                count=last.count - start.count,
                seconds=last.took - start.took,
                amount=last.amount - start.amount,
                fact=last,
            )
        )
    return sorted(found, key=lambda total: -total.seconds)


def _around(loop: Interval, facts: list[T]) -> tuple[T | None, T | None]:
    """The last totals before a loop, and its own.

    Those written first after the loop hold its end, and a moment more.
    """
    before = [fact for fact in facts if fact.time < loop.start]
    inside = [fact for fact in facts if loop.start <= fact.time <= loop.stop]
    after = [fact for fact in facts if fact.time > loop.stop]
    last = [*inside, *after[:1]]
    return before[-1] if before else None, last[-1] if last else None
