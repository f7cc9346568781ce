"""What is fed to a session's training step, and what feeding it costs."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from statistics import median

from unslow.analyse import wording as say
from unslow.analyse.graphs.session_steps import inspected_steps
from unslow.analyse.grouping import grouped
from unslow.analyse.places import by_users
from unslow.facts.sessions import Feed
from unslow.model import Location, Loop, Run

_LEAST_CONVERSION = 50e-6  # seconds; a judgement: any call costs that much
_OF_COPY = 0.2  # of the copy that follows; a judgement: a shorter conversion is not what costs


class FeedCost(enum.Enum):
    """What costs most about a fed value."""

    LIST = "a Python list becomes an array"
    DTYPE = "an array of another dtype is converted"
    ORDER = "an array is copied into contiguous memory"
    COPY = "a plain copy"


@dataclass(frozen=True)
class FedValue:
    """What one line feeds to one placeholder: the last value, and medians of all."""

    location: Location
    last: Feed
    bytes: float
    elements: int
    convert: float  # seconds
    copy: float
    per_step: float  # times that it is fed

    @property
    def cost(self) -> FeedCost:
        last = self.last
        enough = _OF_COPY * self.copy if last.contiguous else self.copy
        is_converted = self.convert >= max(_LEAST_CONVERSION, enough)
        if is_converted:
            return FeedCost.LIST if last.dtype in ("", last.wanted) else FeedCost.DTYPE
        return FeedCost.COPY if last.contiguous else FeedCost.ORDER

    @property
    def seconds(self) -> float:
        """Per step. A plain copy is made whatever the value is."""
        is_converted = self.cost in (FeedCost.LIST, FeedCost.DTYPE)
        return (self.convert if is_converted else self.copy) * self.per_step


def fed_values(run: Run, loop: Loop) -> list[FedValue]:
    inspected = len(inspected_steps(run, loop))
    fed = by_users(run.facts_during(loop, Feed))
    by_placeholder = grouped(fed, lambda feed: (feed.stack[0], feed.name))
    return [
        FedValue(
            location=say.place(run, feeds[-1].stack[0]),
            last=feeds[-1],
            bytes=median(feed.bytes for feed in feeds),
            elements=int(median(feed.elements for feed in feeds)),
            convert=median(feed.convert for feed in feeds),
            copy=median(feed.copy for feed in feeds),
            per_step=len(feeds) / inspected,
        )
        for feeds in by_placeholder.values()
    ]
