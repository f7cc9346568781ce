"""An attached recording from beginning to end, seen from our side."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import unslow
from unslow.attach.inject import inject
from unslow.attach.target import Target
from unslow.errors import UnslowError
from unslow.record.engine.attached import STATE, STOP
from unslow.runfolder import layout

_ARRIVES = 20.0  # seconds until the recorder must have answered from inside the process
_LEAVES = 20.0
_POLL = 0.05


@dataclass(frozen=True)
class Attached:
    """A recording that is under way in another process."""

    target: Target
    folder: Path
    way: str  # how the recorder got in
    arming: float  # seconds in which wrappers were put in place

    def is_over(self) -> bool:
        return not Path(f"/proc/{self.target.pid}").exists() or self.state() != "recording"

    def state(self) -> str:
        return str(_state(self.folder).get("state", ""))


@contextmanager
def attached(target: Target, folder: Path) -> Iterator[Attached]:
    """Record a running process inside the block; everything is taken out again at its end."""
    folder.mkdir(parents=True)
    began = time.time()
    header = {
        "command": list(target.command),
        "cwd": target.cwd,
        "started": began,
        "launcher": os.getpid(),
        "attached": target.pid,
        "unslow": unslow.__version__,
    }
    layout.write_header(str(folder), header)
    way = inject(target, folder)
    state = _answer(target, folder)
    try:
        yield Attached(target, folder, way, float(state.get("arming", 0.0)))
    finally:
        (folder / STOP).touch()
        _wait(lambda: _state(folder).get("state") != "recording" or _gone(target), _LEAVES)
        ended = "running on" if not _gone(target) else "ended while attached"
        seconds = time.time() - began
        layout.write_header(str(folder), {**header, "ended": ended, "seconds": seconds})


def _answer(target: Target, folder: Path) -> dict[str, Any]:
    """What the recorder says from inside; an error where it refuses or says nothing."""
    what = f"cannot attach to process {target.pid}"
    if not _wait(lambda: bool(_state(folder)) or _gone(target), _ARRIVES):
        raise UnslowError(
            what,
            f"it did not answer within {_ARRIVES:.0f} s: it may be in a long native call",
            "Try again in a moment.",
            "attach",
        )
    state = _state(folder)
    if state.get("state") != "recording":
        why = str(state.get("why", "it ended meanwhile"))
        raise UnslowError(what, why, "Type `unslow live` to see runs that are recorded.", "attach")
    return state


def _gone(target: Target) -> bool:
    return not Path(f"/proc/{target.pid}").exists()


def _state(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _wait(until: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if until():
            return True
        time.sleep(_POLL)
    return until()
