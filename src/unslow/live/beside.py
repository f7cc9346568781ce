"""A live view beside a running command: a thread of low priority, on the command's own terminal.

The command's streams are never touched: it writes to the same terminal, file or pipe as without us.
"""

from __future__ import annotations

import enum
import os
import stat
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass

from unslow.live import screen

# Seconds after the start at which a status line is printed; later ones come at twice the time.
STATUS_AT = (10.0, 30.0, 60.0)
_BETWEEN_POLLS = 5.0  # seconds, where only status lines are printed
_PATIENCE = 2.0  # seconds to wait for a diagnosis under way: the report needs the same core
_LEAST_ROWS = 10  # a terminal with fewer has no room for a panel


class Display(enum.Enum):
    NONE = "nothing is shown"
    LINES = "a status line from time to time"
    PANEL = "a panel"


@dataclass(frozen=True)
class Surroundings:
    """Where the streams of this process lead."""

    output_on_terminal: bool  # stdout or stderr, which the program shares
    errors_on_terminal: bool
    output_in_files: bool  # both streams
    fd: int  # a terminal that we may draw on, or -1
    drawable: bool  # it has room, and understands control sequences

    @classmethod
    def here(cls) -> Surroundings:
        streams = [each.fileno() for each in (sys.__stdout__, sys.__stderr__) if each is not None]
        terminals = [fd for fd in streams if os.isatty(fd)]
        fd = terminals[-1] if terminals else _own_terminal()
        dumb = os.environ.get("TERM", "") in ("", "dumb")
        return cls(
            output_on_terminal=bool(terminals),
            errors_on_terminal=sys.__stderr__ is not None and os.isatty(sys.__stderr__.fileno()),
            output_in_files=len(streams) == 2 and all(map(_is_file, streams)),
            fd=fd,
            drawable=fd >= 0 and not dumb and screen.size_of(fd)[1] >= _LEAST_ROWS,
        )


def display_for(wanted: bool | None, around: Surroundings) -> Display:
    """How to show a view. Unasked, nothing is drawn on a terminal that the program writes to."""
    if wanted is False:
        return Display.NONE
    terminal_is_free = around.output_in_files and not around.output_on_terminal
    if around.drawable and (wanted or terminal_is_free):
        return Display.PANEL
    return Display.LINES if wanted is None and around.errors_on_terminal else Display.NONE


def _is_file(fd: int) -> bool:
    """A named file.

    A pipe may lead back to the terminal, or to a program that expects no drawing.
    """
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

    def __init__(self, folder: str, display: Display, fd: int) -> None:
        self._folder, self._display, self._fd = folder, display, fd
        self._panel = screen.Panel(fd)
        self._stop = threading.Event()
        self._drawing = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="live view", daemon=True)
        self._stops = ExitStack()
        self.problem = ""

    def __enter__(self) -> Beside:
        if self._display is not Display.NONE:
            self._thread.start()
        if self._display is Display.PANEL:
            self._stops.enter_context(screen.given_back_on_stop(self._clear))
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._stops.close()
        self._clear()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE)

    def _clear(self) -> None:
        with self._drawing:
            self._panel.close()

    def _work(self) -> None:
        lower_priority()
        try:
            if self._display is Display.PANEL:
                self._draw()
            else:
                self._print_status()
        except Exception as problem:  # noqa: BLE001 - the training goes on without the view
            self.problem = f"{type(problem).__name__}: {problem}"
            self._clear()

    def _draw(self) -> None:
        from unslow.live.watch import Watch
        from unslow.report.live import drawn

        watch = Watch(self._folder)
        while not self._stop.is_set():
            before = time.thread_time()
            lines = drawn(watch.poll(), self._panel.room)
            with self._drawing:
                if not self._stop.is_set():
                    self._panel.draw(lines)
            self._stop.wait(watch.rest(before))

    def _print_status(self) -> None:
        from unslow.live.watch import Watch
        from unslow.report.live import status_line

        watch = Watch(self._folder)
        began, times = time.monotonic(), list(STATUS_AT)
        while not self._stop.wait(_until(began + times[0])):
            view = watch.poll()
            if time.monotonic() - began < times[0]:
                continue
            times = times[1:] or [2 * times[0]]
            with self._drawing:
                if not self._stop.is_set():
                    screen.say(self._fd, status_line(view))


def _until(moment: float) -> float:
    return max(0.0, min(_BETWEEN_POLLS, moment - time.monotonic()))


def lower_priority() -> None:
    """Lower the priority of this thread alone: the training comes first.

    Not to the lowest, with which a busy machine would stop the view for seconds. Outside Linux the
    priority belongs to the whole process, the command included, and stays as it is.
    """
    if sys.platform == "linux":
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        except OSError:
            return
