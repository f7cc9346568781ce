"""Run folders as a recorder would write them, step by step, under a clock of the test's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from unslow.runfolder import layout
from unslow.runfolder.steplog import FIELDS
from unslow.watch.watched import Clocks

GB = 1_000_000_000


class Growing:
    """A run of one process on another machine; `steps` and `idle` let time pass."""

    def __init__(
        self,
        folder: Path,
        host: str = "elsewhere",
        pid: int = 4711,
        merges: bool = False,
        launcher: int | None = None,
    ) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.now = 1000.0  # seconds, by every clock
        self.rss = 1 * GB
        self.available = 10 * GB
        self._header: dict[str, Any] = {"command": ["python", "train.py"], "cwd": str(folder)}
        self._header |= {"host": host, "launcher": launcher or pid}
        layout.write_header(str(folder), self._header)
        self._writer = layout.Writer(str(folder), f"{host}-{pid}")
        self._line("process", pid=pid, host=host, wall_at=int(1e12), clock_at=int(1e12))
        self._line("machine", cores=4, memory_bytes=16 * GB)
        self._total = 0
        self._merges = merges  # later rows hold a second each, as in long runs
        self._ticked = 0.0

    def clocks(self) -> Clocks:
        return Clocks(lambda: self.now, lambda: self.now, lambda: self.now)

    def _line(self, kind: str, **values: object) -> None:
        text = json.dumps({"k": kind, "t": int(self.now * 1e9), **values})
        self._writer.lines(text.encode() + b"\n")

    def _tick(self) -> None:
        if self.now - self._ticked < 2.0:
            return
        self._ticked = self.now
        cpu = {"machine_cpu": 1.1 * self.now, "user_cpu": self.now, "system_cpu": 0.0}
        self._line("tick", steps=self._total, rss=self.rss, available=self.available, **cpu)

    def steps(self, seconds: float, step: float = 0.1, leak: float = 0.0) -> None:
        """So many seconds of training; `leak` in bytes a second."""
        each = round(1 / step) if self._merges and self._total > 50_000 else 1  # steps in a row
        number = round(seconds / step) // each
        rows = np.zeros(number, dtype=FIELDS)
        ends = self.now + each * step * np.arange(1, number + 1)
        rows["end"] = (ends * 1e9).astype(np.int64)
        rows["count"] = each
        rows["total"] = int(each * step * 1e9)
        for name in ("low", "high"):
            rows[name] = int(step * 1e9)
        rows["phases"][:, 3] = rows["total"]
        self._writer.rows(rows.tobytes())
        self._total += number * each
        self._pass(seconds, leak)

    def idle(self, seconds: float) -> None:
        """Time passes, readings come, steps do not."""
        self._pass(seconds, 0.0)

    def _pass(self, seconds: float, leak: float) -> None:
        end = self.now + seconds
        while self.now < end - 1e-9:
            self.now = min(end, self.now + 1.0)
            self.rss += int(leak)
            self.available -= int(leak)
            self._tick()

    def exit(self, how: str = "exit") -> None:
        """The process ends in order."""
        self._line("end", how=how)

    def ended(self, text: str, **more: object) -> None:
        """The launcher says how the command ended."""
        header = {**self._header, **more, "ended": text, "seconds": 1.0}
        layout.write_header(str(self.folder), header)
