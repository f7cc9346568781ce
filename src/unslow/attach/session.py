"""An attached recording from beginning to end, seen from our side."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import unslow
from unslow.attach.inject import inject
from unslow.attach.reach import make_reachable
from unslow.attach.target import Target, has_ended
from unslow.errors import UnslowError
from unslow.facts.json_object import JsonObject
from unslow.record.engine.attached import GOES_ON, STATE, STATE_BYTES
from unslow.runfolder import layout

# Seconds until the recorder must have answered from inside the process. It takes half a second, and
# its hundred rests took twenty on a machine with six times as many programs as processors.
_ARRIVES = 60.0
_LEAVES = 20.0
_POLL = 0.05


@dataclass(frozen=True)
class Pause:
    """How long a training was held up at most."""

    seconds: float
    waited: float  # of these, while other programs had the processors

    @property
    def worked(self) -> float:
        return self.seconds - self.waited


@dataclass
class Attached:
    """A recording that is under way in another process."""

    target: Target
    folder: Path
    way: str  # how the recorder got in
    arming: Pause  # while wrappers were put in place
    disarming: Pause | None = None  # while they were taken out; None where nobody answered
    problem: str = ""  # why the recording is not complete

    def is_over(self) -> bool:
        return has_ended(self.target.pid) or self.state() != "recording"

    def has_ended(self) -> bool:
        return has_ended(self.target.pid)

    def state(self) -> str:
        return str(_state(self.folder).get("state", ""))


@contextmanager
def attached(target: Target, folder: Path) -> Iterator[Attached]:
    """Record a running process inside the block; everything is taken out again at its end."""
    began = time.time()
    header = {
        "command": list(target.command),
        "cwd": target.cwd,
        "started": began,
        "launcher": os.getpid(),
        "attached": target.pid,
        "unslow": unslow.__version__,
    }
    session = _begin(target, folder, header)
    try:
        yield session
    finally:
        (folder / GOES_ON).unlink(missing_ok=True)
        _end(session)
        over = has_ended(target.pid)
        ended = layout.ENDED_WHILE_ATTACHED if over else layout.RUNS_ON
        last = {**header, "ended": ended, "seconds": time.time() - began}
        try:
            layout.write_header(str(folder), last)
        except OSError as problem:
            session.problem = session.problem or f"the run folder could not be written: {problem}"


def _begin(target: Target, folder: Path, header: JsonObject) -> Attached:
    folder.mkdir(parents=True)
    try:
        layout.write_header(str(folder), header)
        (folder / STATE).write_text(" " * STATE_BYTES)
        (folder / GOES_ON).touch()
        make_reachable(target, folder)
        way = inject(target, folder)
        state = _answer(target, folder)
    except BaseException:
        shutil.rmtree(
            folder, ignore_errors=True
        )  # a recorder that comes late finds it gone, and leaves
        raise
    return Attached(target, folder, way, _pause(state))


def _end(session: Attached) -> None:
    """Wait until everything is out of the process again."""
    target, folder = session.target, session.folder
    _wait(lambda: session.state() != "recording" or has_ended(target.pid), _LEAVES)
    state = _state(folder)
    session.problem = str(state.get("problem") or "")
    if state.get("state") == "detached":
        session.disarming = _pause(state)
    elif state.get("state") == "failed":
        session.problem = str(state.get("why"))


def _pause(state: JsonObject) -> Pause:
    return Pause(float(state.get("held", 0.0)), float(state.get("waited", 0.0)))


def _answer(target: Target, folder: Path) -> JsonObject:
    """What the recorder says from inside; an error where it refuses or says nothing."""
    what = f"cannot attach to process {target.pid}"
    if not _wait(lambda: bool(_state(folder)) or has_ended(target.pid), _ARRIVES):
        raise UnslowError(
            what,
            f"it did not answer within {_ARRIVES:.0f} s: it may be in a long native call",
            "Try again in a moment.",
            "attach",
        )
    state = _state(folder)
    if state.get("state") == "recording":
        return state
    why = str(state.get("why", "it ended meanwhile"))
    into = state.get("into")
    follow = f"Follow that recording: unslow live {into}" if into else "Nothing was recorded."
    raise UnslowError(what, why, follow, "attach")


def _state(folder: Path) -> JsonObject:
    try:
        found = json.loads((folder / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # it is still blank
        return {}
    return found if isinstance(found, dict) else {}


def _wait(until: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if until():
            return True
        time.sleep(_POLL)
    return until()
