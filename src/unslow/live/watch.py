"""The rhythm of a live view: polls twice a second or less, within its share of a core."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable

from unslow.cause import load
from unslow.errors import UnslowError
from unslow.facts.json_object import JsonObject
from unslow.live.follow import Follower
from unslow.live.judge import Judge, judge
from unslow.live.state import state_of
from unslow.runfolder import layout as runfile

SHARE = 0.01  # of one core for looking and drawing; diagnoses have a share of their own
SHORTEST, LONGEST = 0.5, 15.0  # seconds between polls


class Watch:
    """One run being watched. `now` and `spent` are clocks: wall time and our processor time."""

    def __init__(
        self,
        folder: str,
        now: Callable[[], float] = time.monotonic,
        spent: Callable[[], float] = time.thread_time,
    ) -> None:
        self.follower = Follower(folder)
        self.judge = Judge()
        self._now, self._spent = now, spent
        self._news = now()
        self._trained: float | None = None
        self._apart = 0.0  # processor seconds of a poll that do not recur
        self._last = 0.0  # processor seconds of the poll before

    def poll(self) -> JsonObject:
        """The state of the run at this moment."""
        self._read()
        if self._diagnose():  # that may have taken seconds on a busy machine
            self._read()
        return state_of(self.follower, self.judge, self._now() - self._news)

    def _read(self) -> None:
        try:
            news = self.follower.poll()
        except runfile.Unreadable as problem:
            raise UnslowError(
                f"cannot watch {self.follower.folder}",
                str(problem),
                problem.next_step or "Type `unslow runs` to see the runs there are.",
                "bad-run-folder",
            ) from None
        if news:
            self._news = self._now()

    @property
    def over(self) -> bool:
        return bool(self.follower.ended)

    def rest(self, spent_before: float) -> float:
        """Seconds to wait after a poll that began when `spent_before` had been spent."""
        cost = self._spent() - spent_before - self._apart
        self._apart = 0.0
        recurs, self._last = min(cost, self._last), cost  # parsing a file is expensive once
        return min(LONGEST, max(SHORTEST, recurs / SHARE))

    def _diagnose(self) -> bool:
        """Diagnose when due: the wait counts from the first step, the cost from its own share."""
        if not self.follower.trained:
            return False
        if self._trained is None:
            self._trained = self._now()
            self._apart += self._cost_of(_warm)
        watched = self._now() - self._trained
        if not self.judge.is_due(watched, self.follower.bytes_taken, self.over):
            return False
        cost = self._cost_of(lambda: judge(self.judge, str(self.follower.folder), self.over))
        self._apart += cost
        self.judge.took(watched, cost)
        return True

    def _cost_of(self, work: Callable[[], None]) -> float:
        before = self._spent()
        work()
        return self._spent() - before


def _warm() -> None:
    """Import what every diagnosis, and the report at the end, needs."""
    for name in ("unslow.analyse.run.assemble", "unslow.diagnose", "unslow.report.view"):
        importlib.import_module(name)
    load()
