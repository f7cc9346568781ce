"""What happened at a line during a loop, from the running totals that the recorder wrote."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from unslow.analyse import wording as say
from unslow.model import Event, Location, Loop, Run


@dataclass(frozen=True)
class Total:
    """Everything of one kind at one line while a loop ran."""

    location: Location
    count: int
    seconds: float
    amount: float
    data: dict[str, Any]


def totals(run: Run, loop: Loop, kind: str) -> list[Total]:
    """The most expensive line first; totals from before the loop are subtracted."""
    places: dict[tuple[Any, ...], list[Event]] = defaultdict(list)
    for event in run.of(kind):
        if event.process == loop.process and event.data.get("stack"):
            places[tuple(map(tuple, event.data["stack"]))].append(event)
    found = [total for events in places.values() for total in _total(run, loop, events)]
    return sorted(found, key=lambda total: -total.seconds)


def _total(run: Run, loop: Loop, events: list[Event]) -> Iterable[Total]:
    before = [event.data for event in events if event.time < loop.start]
    inside = [event.data for event in events if loop.start <= event.time <= loop.stop]
    # What was written first after the loop holds its end, and a moment more.
    inside += [event.data for event in events if event.time > loop.stop][:1]
    if not inside:
        return
    start: dict[str, Any] = dict(before[-1]) if before else {"count": 0, "took": 0.0, "amount": 0.0}
    last = dict(inside[-1])
    count = int(last["count"]) - int(start["count"])
    if count > 0:
        yield Total(
            location=say.place(run, last["stack"][0]),
            count=count,
            seconds=float(last["took"]) - float(start["took"]),
            amount=float(last["amount"]) - float(start["amount"]),
            data=last,
        )
