"""What happened at a line during a loop, from the running totals that the recorder wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from unslow.analyse import wording as say
from unslow.analyse.grouping import grouped
from unslow.analyse.places import Anywhere, by_users, line_of
from unslow.facts.schema import Tally
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
    written = by_users(run.facts(kind, loop.process))
    by_line = grouped(written, lambda fact: fact.stack)
    found = [_gained(run, *_around(loop, facts, kind())) for facts in by_line.values()]
    return sorted((total for total in found if total.count > 0), key=lambda total: -total.seconds)


def last_at_line(facts: Sequence[T], place: Anywhere) -> T | None:
    """The totals of a line over the whole run."""
    here = [fact for fact in by_users(facts) if line_of(fact.stack[0]) == line_of(place)]
    return here[-1] if here else None


def _gained(run: Run, before: T, last: T) -> LineTotal[T]:
    return LineTotal(
        location=say.place(run, last.stack[0]),
        count=last.count - before.count,
        seconds=last.took - before.took,
        amount=last.amount - before.amount,
        fact=last,
    )


def _around(loop: Interval, facts: list[T], nothing: T) -> tuple[T, T]:
    """The last totals before a loop, and its own, which are the same where it added nothing.

    Those written first after the loop hold its end, and a moment more.
    """
    before = [fact for fact in facts if fact.time < loop.start]
    inside = [fact for fact in facts if loop.start <= fact.time <= loop.stop]
    after = [fact for fact in facts if fact.time > loop.stop]
    last = [*before, *inside, *after[:1]]
    return before[-1] if before else nothing, last[-1]
