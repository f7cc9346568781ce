"""One run that is watched: each poll reads what was added and returns what there is to report."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from unslow.live.follow import Followed, Follower
from unslow.live.judge import Judge
from unslow.live.state import state_of
from unslow.report import words
from unslow.watch import sentences
from unslow.watch.alert import Alert, Matter
from unslow.watch.disks import is_full
from unslow.watch.ending import Ending
from unslow.watch.filling import Full
from unslow.watch.process import WatchedProcess
from unslow.watch.slowdown import SHARE, SlowdownTest, Slower
from unslow.watch.stall import Stalled

_FORECAST_EVERY = 15.0  # seconds between two forecasts of memory
_EXPECT_EVERY = 60.0  # seconds between two forecasts of the end: each takes some milliseconds


@dataclass(frozen=True)
class Clocks:
    """Wall time, the clock that recorded processes of this machine use, and one for intervals."""

    wall: Callable[[], float] = time.time
    process: Callable[[], float] = time.perf_counter
    monotonic: Callable[[], float] = time.monotonic


@dataclass
class Expected:
    """Seconds until the end, where the program says how many steps it makes."""

    left: float = math.nan
    growing: float = math.nan  # the same if its steps go on growing


@dataclass
class WatchedRun:
    """A run folder, the process that is judged, and the matters that were reported."""

    folder: Path
    share: float = SHARE
    clocks: Clocks = field(default_factory=Clocks)
    process: WatchedProcess | None = None
    expected: Expected = field(default_factory=Expected)
    full: Full | None = None  # of memory, by the last forecast
    reported: set[Matter] = field(default_factory=set)
    over: bool = False

    def __post_init__(self) -> None:
        self.follower = Follower(str(self.folder))
        self._news = self.clocks.monotonic()
        self._forecast_at = self._expect_at = -math.inf
        self._ending = Ending(self.follower, self.clocks.monotonic)

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def steps(self) -> int:
        return max((each.rows.steps_seen for each in self.follower.trained), default=0)

    @property
    def _counted(self) -> str:
        """Its steps in words; what came before `unslow attach` nobody has counted."""
        since = " since unslow attached" if "attached" in self.follower.header else ""
        return f"{words.count(self.steps, 'step')}{since}"

    @property
    def quiet(self) -> float:
        """Seconds without news, by our clock."""
        return self.clocks.monotonic() - self._news

    @property
    def since_step(self) -> float:
        process = self.process
        if process is None or not process.pauses.last:
            return math.nan
        return process.followed.last / 1e9 + self.quiet - process.pauses.last

    def poll(self) -> list[Alert]:
        """What is new since the last poll. Raises `layout.Unreadable` for what is no run."""
        if self.follower.poll():
            self._news = self.clocks.monotonic()
        process = self._choose()
        alerts: list[Alert | None] = []
        if process is not None:
            process.read(self.clocks.process())
            alerts += [self._slower(process), self._filling(process)]
        alerts.append(self._ended())
        if process is not None and not self.over and not self._ending.is_near:
            alerts.append(self._stalled(process))
            self._expect()
        return [alert for alert in alerts if alert is not None]

    def _choose(self) -> WatchedProcess | None:
        """The process with most steps, as long as it runs."""
        if self.process is not None and not self.process.followed.how:
            return self.process
        running = [each for each in self.follower.trained if not each.how]
        chosen = max(running, key=_steps, default=None)
        if chosen is not None:
            self.process = WatchedProcess(chosen, SlowdownTest(self.share))
        return self.process

    def _slower(self, process: WatchedProcess) -> Alert | None:
        found: Slower | None = process.slower()
        if process.slowdown.reported == 0:
            self.reported.discard(Matter.SLOWER)
        if found is None:
            return None
        since = process.moment(found.since)
        text = sentences.slower(found, since, Matter.SLOWER in self.reported)
        numbers = {"before": found.before, "now": found.now, "share": found.share}
        self.reported.add(Matter.SLOWER)
        return self._alert(Matter.SLOWER, text, since, numbers)

    def _stalled(self, process: WatchedProcess) -> Alert | None:
        found: Stalled | None = process.stalled(self.quiet)
        if found is None:
            self.reported.discard(Matter.STALLED)
            return None
        # On a full disk nothing is written, so nothing is seen.
        if Matter.STALLED in self.reported or is_full(self.folder):
            return None
        self.reported.add(Matter.STALLED)
        since = process.moment(found.since)
        return self._alert(
            Matter.STALLED, sentences.stalled(found, since), since, {"seconds": found.seconds}
        )

    def _filling(self, process: WatchedProcess) -> Alert | None:
        now = self.clocks.monotonic()
        if now - self._forecast_at < _FORECAST_EVERY:
            return None
        self._forecast_at = now
        self.full = full = process.filling()
        ends_before = full is not None and self.expected.growing < full.left
        if full is None or ends_before or Matter.MEMORY in self.reported:
            return None
        self.reported.add(Matter.MEMORY)
        numbers = {"left": full.left, "used": full.used, "rate": full.rate, "room": full.room}
        return self._alert(Matter.MEMORY, sentences.memory(full), None, numbers)

    def _expect(self) -> None:
        now = self.clocks.monotonic()
        if now - self._expect_at < _EXPECT_EVERY:
            return
        self._expect_at = now
        expected = state_of(self.follower, Judge(), self.quiet)["expected"]
        if expected:
            growing = expected["left_growing"]
            self.expected = Expected(expected["left"], growing or expected["left"])

    def _ended(self) -> Alert | None:
        ended = None if self.over else self._ending.ended()
        if ended is None:
            return None
        self.over = True
        numbers: dict[str, float] = {"steps": self.steps}
        if not ended.well:
            text = sentences.died(ended.how, self._counted, self._memory_share)
            return self._alert(Matter.DIED, text, None, numbers)
        seconds = max((each.seconds for each in self.follower.processes.values()), default=0.0)
        text = sentences.done(seconds, self._counted)
        if ended.runs_on:
            text = f"{text}; only the recording is over, the training goes on"
        return self._alert(Matter.DONE, text, None, numbers)

    @property
    def _memory_share(self) -> float:
        """Of the memory there is for it, what it used last."""
        process = self.process
        if process is None or not process.room:
            return 0.0
        return process.followed.rss / (process.followed.rss + process.room)

    def _alert(
        self, matter: Matter, text: str, since: float | None, numbers: dict[str, float]
    ) -> Alert:
        return Alert(matter, self.name, str(self.folder), text, self.clocks.wall(), since, numbers)


def _steps(process: Followed) -> int:
    return process.rows.steps_seen
