"""Rows in a row: updates that one line makes again and again are noted as they pass, and made into rows later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unslow.record.recorder import Lane

# When the call began and ended; and, where anything else happened since the last row, what was gathered meanwhile:
# nanoseconds by phase, our own, elements, value.
Noted = tuple[Any, ...]


class Streak:
    """After a short step Python is cold, and the little that recording does takes five times as long as it would.

    So a call that is like the one before only leaves its times here. Whoever sees a call that is not says so.
    """

    __slots__ = (
        "answer", "calling", "calls", "count", "elements", "ended", "fetches", "held", "lane", "left", "limit", "nodes",
        "note", "noted", "owner", "path", "site", "tell", "traced", "traces",
    )  # fmt: skip

    def __init__(self, lane: Lane, owner: int, path: Any, answer: Any, site: int) -> None:
        self.lane = lane
        self.owner = owner  # its id: what the program lets go must not be kept alive here
        self.path, self.answer, self.site = path, answer, site
        self.calls = lane.calls  # wrapped calls of the thread by the last row
        self.elements = 0.0  # numbers in a batch, where all have as many
        self.left = 1  # calls to note before they are made into rows
        self.limit = 0  # nanoseconds: a call that takes more is not like the others
        self.calling: Any = None  # the owner, while one of its calls is under way
        self.traces = self.traced = 0  # of functions: how many traces there were by now, and their nanoseconds
        self.fetches: Any = None  # of a session: the ids of what it fetches
        self.held: Any = None  # the same themselves, so that their ids stay theirs
        self.count: Callable[[], int] | None = None  # how many nodes its graph has now
        self.nodes = 0  # and by then
        self.ended: Callable[[], object] | None = None  # called when it is over
        self.noted: list[Noted] = []
        self.note = self.noted.append
        self.tell: Callable[[int, int, int], None] | None = None  # told how many calls, their nanoseconds, the last's

    def note_all(self, began: int, now: int) -> None:
        """A call, with what else has gathered since the last."""
        self.note((began, now, *self.lane.gathered()))
        self.calls = self.lane.calls
