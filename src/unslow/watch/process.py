"""The process of a run that is judged: its speed, its pauses and its memory."""

from __future__ import annotations

import os
import socket
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from unslow.facts.json_object import JsonObject
from unslow.facts.machine import Machine
from unslow.live.follow import Followed
from unslow.watch.blocks import Block, Blocks
from unslow.watch.filling import Filling, Full
from unslow.watch.load import Load, Usage, of_process, of_tick
from unslow.watch.slowdown import SlowdownTest, Slower
from unslow.watch.stall import Pauses, Stalled

_SETTLED = 60.0  # seconds after the first step in which memory is not judged: models are built
_RECENT = 10.0  # seconds over which the use of processors is taken
_MOST_WAITING = 720  # blocks that wait for a reading of the machine's load: an hour


@dataclass
class WatchedProcess:
    """What was read of one process so far, in bounded memory."""

    followed: Followed
    slowdown: SlowdownTest
    blocks: Blocks = field(default_factory=Blocks)
    load: Load = field(default_factory=Load)
    pauses: Pauses = field(default_factory=Pauses)
    memory: Filling = field(default_factory=Filling)
    last: Block | None = None
    usage: Usage = field(default_factory=Usage)  # of the processors, in the last block
    room: float = 0.0  # bytes of memory that are left
    _first_step: float = 0.0
    _waiting: deque[Block] = field(default_factory=lambda: deque(maxlen=_MOST_WAITING))

    def read(self, now: float) -> None:
        """Take what the last poll brought; `now` by the clock of this machine's processes."""
        rows = self.followed.rows.fresh
        if len(rows):
            self._first_step = self._first_step or float(rows["end"][0]) / 1e9
            self.pauses.took(float(rows["high"].max()) / 1e9, float(rows["end"].max()) / 1e9)
            self._waiting.extend(self.blocks.add(rows))
            self.followed.rows.fresh = rows[:0]
        for tick in self.followed.fresh_ticks:
            self._read_tick(tick)
        self.followed.fresh_ticks = []
        if not self.load.cores:
            self.load.cores = next(iter(self.followed.facts(Machine)), Machine()).cores
        if self.is_here:
            self.load.add(of_process(pid_of(self.followed), now))

    def _read_tick(self, tick: JsonObject) -> None:
        self.load.add(of_tick(tick))
        moment, rss = int(tick["t"]) / 1e9, float(tick.get("rss") or 0.0)
        settled = self._first_step and moment >= self._first_step + _SETTLED
        if rss and settled:
            self.memory.add(moment, rss)
            self.room = self._room_at(tick, rss)

    def _room_at(self, tick: JsonObject, rss: float) -> float:
        limit = float(next(iter(self.followed.facts(Machine)), Machine()).limit_bytes)
        rooms = [float(tick["available"])] if tick.get("available") else []
        if limit > 0:
            rooms.append(limit - float(tick.get("group_bytes") or rss))
        return max(0.0, min(rooms, default=0.0))

    def slower(self) -> Slower | None:
        """Judge the blocks whose load is known by now."""
        found = None
        first, last = self.load.span
        while self._waiting and self._waiting[0].end <= last:
            block = self._waiting.popleft()
            if block.begin < first:  # of a run that was joined late
                continue
            self.last, self.usage = block, self.load.usage(block.begin, block.end)
            found = self.slowdown.add(block, self.usage) or found
        return found

    def stalled(self, quiet: float) -> Stalled | None:
        """`quiet`: seconds since anything was added to the run folder."""
        now = self.followed.last / 1e9 + quiet
        return self.pauses.stalled(now, self.cores, self.followed.distance)

    def filling(self) -> Full | None:
        return self.memory.forecast(self.room)

    @property
    def cores(self) -> float | None:
        """How many cores it uses now; None if nobody says."""
        return self.load.recent(_RECENT) if self.is_here else None

    @property
    def is_here(self) -> bool:
        """Whether it runs on this machine."""
        return _was_here(self.followed) and is_alive(pid_of(self.followed))

    def moment(self, clock: float) -> float:
        """A time of the process's clock as seconds since the epoch."""
        head = self.followed.first("process")
        return clock + (int(head.get("wall_at") or 0) - int(head.get("clock_at") or 0)) / 1e9


def pid_of(process: Followed) -> int:
    return int(process.first("process").get("pid") or 0)


def is_gone(process: Followed) -> bool:
    """Whether a process of this machine does not run any more; of others nobody knows."""
    return _was_here(process) and not is_alive(pid_of(process))


def _was_here(process: Followed) -> bool:
    return bool(process.first("process").get("host") == socket.gethostname())


def is_alive(pid: int) -> bool:
    """Whether a process of this machine runs; one that ended and is not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
        return state not in (b"Z", b"X")
    except (OSError, IndexError):
        pass
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return pid > 0
