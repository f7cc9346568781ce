"""Rows in a row: updates that one line makes again and again are noted as they pass, and made into rows later."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from unslow.record.engine.recorder import Gathered, Lane

# The code and the instruction of the frame that calls; how far up the next frame is, its code and its instruction; how
# far up the one after it, and its instruction. Where the stack ends, the last frame stands for those above it.
Place = tuple[CodeType, int, int, CodeType, int, int, int]


def place_of(frame: FrameType) -> Place:
    """Where a call comes from: all that wrappers ask of each call in a streak, since to look at frames costs."""
    above, middle = frame.f_back, 2
    if above is None:
        above, middle = frame, 1
    top, far = above.f_back, middle + 1
    if top is None:
        top, far = above, middle
    return frame.f_code, frame.f_lasti, middle, above.f_code, above.f_lasti, far, top.f_lasti


class Streak:
    """After a short step Python is cold, and the little that recording does takes five times as long as it would.

    So a call that is like the one before only leaves its times here. Whoever sees a call that is not says so. What a
    wrapper needs of a streak it keeps in variables of its own: each object that it looks at costs, too.
    """

    __slots__ = (
        "calls",
        "count",
        "elements",
        "ended",
        "extra",
        "fetches",
        "held",
        "lane",
        "left",
        "limit",
        "nodes",
        "note",
        "noted",
        "owner",
        "place",
        "site",
        "stop",
        "tell",
        "traced",
        "traces",
        "who",
    )

    def __init__(self, lane: Lane, owner: Any, site: int, place: Place) -> None:
        self.lane = lane
        self.owner = id(owner)
        self.who = weakref.ref(owner)  # what the program lets go must not be kept alive here
        self.site, self.place = site, place
        self.stop: Callable[[], None] = (
            _nothing  # makes the wrapper look at the next call in full, or at this one
        )
        self.calls = lane.calls  # wrapped calls of the thread by the last row
        self.elements = 0.0  # numbers in a batch, where all have as many
        self.left = 1  # calls to note before they are made into rows
        self.limit = 0  # nanoseconds: a call that takes more is not like the others
        self.traces = self.traced = (
            0  # of functions: how many traces there were by now, and their nanoseconds
        )
        self.fetches: Any = None  # of a session: the ids of what it fetches
        self.held: Any = None  # the same themselves, so that their ids stay theirs
        self.count: Callable[[], int] = int  # how many nodes its graph has now
        self.nodes = 0  # and by then
        self.ended: Callable[[], object] | None = None  # called when it is over
        self.noted: list[
            int
        ] = []  # when each call began and ended, in turn: an odd number while one is under way
        self.note = self.noted.append
        self.extra: dict[
            int, Gathered
        ] = {}  # by the number of a call in `noted`: what else had gathered before it
        self.tell: Callable[[int, int, int], None] | None = (
            None  # told how many calls, their nanoseconds, the last's
        )

    @property
    def calling(self) -> Any:
        """The owner, while one of its calls is under way."""
        return self.who() if len(self.noted) & 1 else None

    def gather(self) -> None:
        """More has happened since the last call than this one."""
        self.extra[len(self.noted) >> 1] = self.lane.gathered()
        self.calls = self.lane.calls

    def take(self) -> tuple[list[int], dict[int, Gathered]]:
        """What was noted so far, but for a call that is under way."""
        noted, extra = self.noted[: len(self.noted) & ~1], self.extra
        del self.noted[
            : len(noted)
        ]  # the list itself stays: its thread may be about to append to it
        self.extra = {}
        return noted, extra


def nobody(streak: Streak) -> None:
    """Follows a streak where nothing is wrapped yet."""


def _nothing() -> None:
    """Nobody follows it yet."""
