"""Draws a live view: in the last rows of a shared terminal, or on a whole one.

A drawing is a single write, so that it never splits the bytes of the training's own output.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

LEFT = 4  # rows that a panel leaves to the program at least
_SAVE, _BACK = "\x1b7", "\x1b8"  # the cursor, with its colours
_ALL_ROWS = "\x1b[r"
_ERASE_BELOW = "\x1b[J"


def size_of(fd: int) -> tuple[int, int]:
    """Columns and rows; read for each drawing, so that a resized terminal needs no signal."""
    try:
        size = os.get_terminal_size(fd)
    except OSError:
        return 80, 24
    return size.columns or 80, size.lines or 24


def is_ours(fd: int) -> bool:
    """Whether we are in the terminal's foreground: a background job must not draw."""
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:  # not our controlling terminal: nobody else's shell is there either
        return os.isatty(fd)


class Panel:
    """The last rows of a terminal. The rows above scroll by themselves, and the cursor stays there.

    The scrolling region is set to the rows above; everything the program prints, with its
    carriage returns and colours, goes there as usual.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._placed = (0, 0, 0)  # columns, rows, and rows of the panel

    @property
    def room(self) -> tuple[int, int]:
        columns, rows = size_of(self._fd)
        return columns, max(0, rows - LEFT)

    def draw(self, lines: Sequence[str]) -> None:
        if not is_ours(self._fd):
            return
        columns, rows = size_of(self._fd)
        lines = lines[: max(0, rows - LEFT)]
        if not lines:
            return
        text = ""
        height = (
            max(len(lines), self._placed[2]) if self._placed[:2] == (columns, rows) else len(lines)
        )
        if self._placed != (columns, rows, height):
            text = _placing(rows, height)
            self._placed = (columns, rows, height)
        _write(self._fd, f"{text}{_SAVE}{_drawn(_filled(lines, height), rows - height + 1)}{_BACK}")

    def close(self) -> None:
        """Give the rows back, empty."""
        if self._placed[2]:
            _write(self._fd, f"{_SAVE}{_ALL_ROWS}{_BACK}{_ERASE_BELOW}")
        self._placed = (0, 0, 0)


def _placing(rows: int, height: int) -> str:
    """Make room below the cursor, and let only the rows above scroll.

    The cursor is always above the panel, so erasing below it removes an old panel wherever a
    resize has put it.
    An index (ESC D) scrolls without touching the column, unlike a newline.
    """
    clear = f"{_SAVE}{_ALL_ROWS}{_BACK}{_ERASE_BELOW}"
    room = "\x1bD" * height + f"\x1b[{height}A"
    return f"{clear}{room}{_SAVE}\x1b[1;{rows - height}r{_BACK}"


def _drawn(lines: Sequence[str], first: int) -> str:
    """Lines at their rows. Each row is erased first: after a full line that would erase its end."""
    return (
        "\x1b[0m\x1b[?7l"
        + "".join(f"\x1b[{row};1H\x1b[K{line}" for row, line in enumerate(lines, first))
        + "\x1b[?7h"
    )


def _filled(lines: Sequence[str], height: int) -> list[str]:
    return [*lines, *[""] * (height - len(lines))]


class Whole:
    """A terminal of its own: the alternate screen, which leaves no trace when it is closed."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._open = False

    @property
    def room(self) -> tuple[int, int]:
        return size_of(self._fd)

    def draw(self, lines: Sequence[str]) -> None:
        if not is_ours(self._fd):
            return
        _, rows = size_of(self._fd)
        opening = "" if self._open else "\x1b[?1049h\x1b[?25l"
        self._open = True
        _write(self._fd, f"{opening}{_drawn(_filled(lines[:rows], rows), 1)}")

    def close(self) -> None:
        if self._open:
            _write(self._fd, "\x1b[?25h\x1b[?1049l")
        self._open = False


@contextmanager
def given_back_on_stop(close: Callable[[], None]) -> Iterator[None]:
    """On Ctrl-Z the shell gets its whole terminal back; the next drawing sets it up again."""

    def stop(number: int, frame: FrameType | None) -> None:
        close()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, stop)

    before = signal.signal(signal.SIGTSTP, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, before if before is not None else signal.SIG_DFL)


def line_of_its_own(text: str, columns: int) -> str:
    """A line that starts at the left margin and overwrites nothing.

    As many blanks as the terminal is wide lead to the next line from any column but the first.
    """
    return f"{' ' * columns}\r\x1b[K{text[: columns - 1]}\n"


def say(fd: int, text: str) -> None:
    """One line among the program's own."""
    _write(fd, line_of_its_own(text, size_of(fd)[0]))


def _write(fd: int, text: str) -> None:
    data = text.encode("utf-8", "replace")
    try:
        while data:
            data = data[os.write(fd, data) :]
    except OSError:
        return  # the terminal is gone; the training is not
