"""Passes the output of several processes on, line by line, with the name of its process."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

_PATIENCE = 1.0  # seconds after which a line without an end is passed on as it is
_MOST_HELD = 1 << 16  # bytes of a line that are held back
_READ = 1 << 16
_COLOURS = (36, 33, 35, 32, 34, 31)  # of a terminal: cyan, yellow, magenta, green, blue, red


@dataclass
class Output:
    """One of our own streams. Lines of different processes never share a line of it."""

    file: int
    open_line: Stream | None = None  # whose unfinished line is at its end

    @property
    def colours(self) -> bool:
        return os.isatty(self.file) and not os.environ.get("NO_COLOR")

    def write(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self.file, data) :]
        except OSError:  # nobody reads it any more: the job goes on
            return


@dataclass(eq=False)
class Stream:
    """What one process writes to one stream."""

    name: str
    number: int  # of the process, which decides its colour
    source: int  # file descriptor, read without waiting
    output: Output
    _held: bytes = b""
    _since: float = field(default_factory=time.monotonic)

    def take(self) -> bool:
        """Pass on what there is; False at the end of the stream."""
        try:
            data = os.read(self.source, _READ)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        if not data:
            self.finish()
            return False
        if not self._held:
            self._since = time.monotonic()
        lines = (self._held + data).split(b"\n")
        self._held = lines.pop()
        self._write(b"".join(self._prefixed(line + b"\n", at) for at, line in enumerate(lines)))
        if len(self._held) > _MOST_HELD:
            self._pass_on()
        return True

    def finish(self) -> None:
        """At the end of the process, a last line without an end gets one."""
        if self._held:
            self._write(self._prefixed(self._held + b"\n"))
            self._held = b""
        elif self.output.open_line is self:
            self.output.write(b"\n")
            self.output.open_line = None

    def release_old(self, now: float) -> None:
        """A prompt, or a row of dots, is shown before its line has ended."""
        if self._held and now - self._since > _PATIENCE:
            self._pass_on()

    def _pass_on(self) -> None:
        self._write(self._prefixed(self._held), ends=False)
        self._held = b""

    def _prefixed(self, line: bytes, at: int = 0) -> bytes:
        if at == 0 and self.output.open_line is self:  # it goes on with a line that it began
            return line
        prefix = f"[{self.name}] "
        if self.output.colours:
            prefix = f"\x1b[{_COLOURS[self.number % len(_COLOURS)]}m[{self.name}]\x1b[0m "
        return prefix.encode() + line

    def _write(self, data: bytes, ends: bool = True) -> None:
        if not data:
            return
        before = self.output.open_line
        if before is not None and before is not self:
            data = b"\n" + data
        self.output.open_line = None if ends else self
        self.output.write(data)
