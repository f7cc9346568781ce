"""How a watched run ended: by its launcher, or by what its processes wrote before they left."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass

from unslow.live.follow import Follower
from unslow.runfolder.layout import ENDED_WHILE_ATTACHED, RUNS_ON
from unslow.watch.process import is_alive, is_gone

_GONE_FOR = 5.0  # seconds without its processes: a file may be a moment late
_SILENT = "its process disappeared without a word: killed?"


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that is over."""

    how: str
    well: bool  # in order
    runs_on: bool  # only its recording is over


@dataclass(slots=True)
class Ending:
    """Asked at each poll. `now` is a clock for intervals."""

    follower: Follower
    now: Callable[[], float]
    _gone_since: float | None = None

    @property
    def is_near(self) -> bool:
        """Whether its processes are gone, which may be all that can be known in a moment."""
        return self._gone_since is not None

    def ended(self) -> Ended | None:
        """None while it goes on."""
        how = self._how()
        if how is None:
            return None
        well = how in ("exit", "exit 0", RUNS_ON)
        if not well and self._error not in how:
            how = f"{how}, {self._error}"
        return Ended(how, well, how == RUNS_ON)

    def _how(self) -> str | None:
        launcher = self.follower.ended
        if launcher and launcher != ENDED_WHILE_ATTACHED:
            return launcher
        if not launcher and not self._has_been_gone():
            return None
        if self._error:
            return self._error
        return "exit" if all(each.how for each in self.follower.processes.values()) else _SILENT

    @property
    def _error(self) -> str:
        """The exception that ended a process; nothing where there was none."""
        ends = (each.how for each in self.follower.processes.values())
        return next((how for how in ends if how not in ("", "exit")), "")

    def _has_been_gone(self) -> bool:
        now = self.now()
        if not self._is_gone():
            self._gone_since = None
            return False
        self._gone_since = now if self._gone_since is None else self._gone_since
        return now - self._gone_since >= _GONE_FOR

    def _is_gone(self) -> bool:
        """Whether all its processes are, and nobody is left to write how it ended."""
        processes = self.follower.processes.values()
        if not processes or self._launcher_lives():
            return False
        return all(each.how or is_gone(each) for each in processes)

    def _launcher_lives(self) -> bool:
        """Whether another `unslow` is there to write how its command ended.

        Of other machines nobody knows; a process that `watch` itself attached to has only us.
        """
        header = self.follower.header
        if header.get("host", socket.gethostname()) != socket.gethostname():
            return True
        launcher = int(header.get("launcher") or 0)
        return launcher != os.getpid() and is_alive(launcher)
