"""Garbage collections that a line of the program asks for."""

from __future__ import annotations

from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.grouping import grouped
from unslow.analyse.run.during import facts_during
from unslow.facts.memory import Gc
from unslow.model import Location, Loop, Run


@dataclass(frozen=True)
class AskedCollections:
    """What one line of the user's asks for in a loop, itself or through a library."""

    location: Location
    calls: int
    seconds: float


def asked_collections(run: Run, loop: Loop) -> list[AskedCollections]:
    """One entry per line, the most expensive first. Facts are thinned out, their totals are not."""
    asked = [one for one in facts_during(run, loop, Gc) if one.asked and one.stack]
    by_line = grouped(asked, lambda one: one.key).values()
    found = [_between(run, collections[0], collections[-1]) for collections in by_line]
    return sorted(found, key=lambda each: -each.seconds)


def _between(run: Run, first: Gc, last: Gc) -> AskedCollections:
    return AskedCollections(
        location=say.place(run, last.stack[0]),
        calls=last.n - first.n + 1,
        seconds=last.sum - (first.sum - first.took),
    )
