"""A view beside a command that runs: in a thread of low priority, on a terminal that the command may write to as well.

The command's own streams are never touched: it writes to the same terminal, file or pipe as without us.
"""

from __future__ import annotations

import enum
import os
import stat
import sys
import threading
import time
from contextlib import ExitStack
from types import TracebackType

from unslow.live import screen

# Seconds after the start at which a line is said among the program's own; then after twice as many each time.
SAID_AT = (10.0, 30.0, 60.0)
_LOOK_FOR_LINES = 5.0  # seconds between looks where only lines are said
_PATIENCE = 2.0  # seconds to wait at the end for a diagnosis under way: the report that follows needs the same core
_LEAST_ROWS = 10  # a terminal with fewer has no room for a panel


class Manner(enum.Enum):
    NONE = "nothing is shown"
    LINES = "now and then a line"
    PANEL = "a panel"


def manner(wanted: bool | None, shared: bool, said: bool, apart: bool, terminal: bool) -> Manner:
    """How to show a view. Unasked, nothing is drawn on a terminal that the program writes to.

    `shared`: the program's output goes to a terminal; `said`: its stderr does; `apart`: both its streams go to
    files; `terminal`: there is one that we may draw on.
    """
    if wanted is False:
        return Manner.NONE
    if terminal and (wanted or (apart and not shared)):
        return Manner.PANEL
    return Manner.LINES if wanted is None and said else Manner.NONE


class Place:
    """What this process finds around it: its streams, and the terminal it was started from."""

    def __init__(self) -> None:
        out, err = sys.__stdout__, sys.__stderr__
        streams = [each.fileno() for each in (out, err) if each is not None]
        self.said = err is not None and os.isatty(err.fileno())
        self.shared = any(os.isatty(fd) for fd in streams)
        self.apart = len(streams) == 2 and all(_is_file(fd) for fd in streams)
        self.fd = next((fd for fd in reversed(streams) if os.isatty(fd)), -1)
        if self.fd < 0:
            self.fd = _own_terminal()
        dumb = os.environ.get("TERM", "") in ("", "dumb")
        self.terminal = self.fd >= 0 and not dumb and screen.size_of(self.fd)[1] >= _LEAST_ROWS


def _is_file(fd: int) -> bool:
    """A file that someone named. A pipe may lead back to the terminal, and a program that catches our output
    does not expect us to draw."""
    try:
        return stat.S_ISREG(os.fstat(fd).st_mode)
    except OSError:
        return False


def _own_terminal() -> int:
    """The terminal that we were started from, where we are in its foreground; else -1."""
    try:
        fd = os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return -1
    return fd if screen.is_ours(fd) else -1


class Beside:
    """Use as a context manager around the command."""

    def __init__(self, folder: str, how: Manner, fd: int) -> None:
        self._folder, self._how, self._fd = folder, how, fd
        self._panel = screen.Panel(fd)
        self._stop = threading.Event()
        self._drawing = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="live view", daemon=True)
        self._stops = ExitStack()
        self.problem = ""

    def __enter__(self) -> Beside:
        if self._how is not Manner.NONE:
            self._thread.start()
        if self._how is Manner.PANEL:
            self._stops.enter_context(screen.given_back_on_stop(self._clear))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._stops.close()
        self._clear()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE)

    def _clear(self) -> None:
        with self._drawing:
            self._panel.close()

    def _work(self) -> None:
        give_way()
        try:
            if self._how is Manner.PANEL:
                self._draw()
            else:
                self._speak()
        except Exception as problem:  # noqa: BLE001 - the fence of the view: the training goes on without it
            self.problem = f"{type(problem).__name__}: {problem}"
            self._clear()

    def _draw(self) -> None:
        from unslow.live.watch import Watch
        from unslow.report.live import frame, painted

        watch = Watch(self._folder)
        while not self._stop.is_set():
            before = time.thread_time()
            columns, rows = self._panel.room
            view = watch.look()
            lines = painted(frame(view, columns, rows), columns)
            with self._drawing:
                if not self._stop.is_set():
                    self._panel.draw(lines)
            self._stop.wait(watch.rest(before))

    def _speak(self) -> None:
        from unslow.live.watch import Watch
        from unslow.report.live import status_line

        watch = Watch(self._folder)
        began, times = time.monotonic(), list(SAID_AT)
        while not self._stop.wait(
            max(0.0, min(_LOOK_FOR_LINES, began + times[0] - time.monotonic()))
        ):
            view = watch.look()
            if time.monotonic() - began >= times[0]:
                times = times[1:] or [2 * times[0]]
                with self._drawing:
                    if not self._stop.is_set():
                        screen.say(self._fd, status_line(view))


def give_way() -> None:
    """A low priority for this thread alone: the training comes first.

    Not the lowest, with which a busy machine would let a view stand still for seconds. Elsewhere than on Linux the
    priority is the whole process's, the command included, and stays as it is.
    """
    if sys.platform == "linux":
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        except OSError:
            return
