"""Starts and ends a recording in a process that is already running.

`unslow attach` runs `record` inside the process, on a thread of its own: the program is not held
up. The recording ends when the attaching process requests it by removing a file of the run folder,
or when that process is gone: nothing needs to be injected a second time.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from unslow.record.engine.giving_way import GivingWay

if TYPE_CHECKING:
    from unslow.record.engine.start import Recording

GOES_ON = "attached.on"  # a file in the run folder; removing it requests the end
STATE = "attached.json"  # what happened inside the process, for the attaching side
STATE_BYTES = 4096  # of that file, which the attaching side makes full of blanks
_ASK_EVERY = 0.2  # seconds between two checks for that file: what a user waits after Ctrl-C
_MARK = "unslow.attached"  # an entry of sys.modules while a recording is attached
# Modules in the order in which they need each other: each one is imported for itself, 40 ms in all,
# and ten times that where Python has to compile them first.
_PARTS = (
    *("facts.schema", "facts.process", "facts.codec", "runfolder.layout"),
    *(
        "record.engine.frames",
        "record.engine.own_attributes",
        "record.engine.reachable",
        "record.engine.live_objects",
    ),
    *("record.engine.recorder", "record.engine.probe", "record.engine.arm", "record.engine.rows"),
    *("record.engine.update_sites", "record.engine.steps", "record.engine.watcher"),
    *("record.trial.control", "record.engine.start"),
)


def record(folder: str, attacher: int, beside: GivingWay) -> None:
    """Record this process into a folder until asked to stop. Never raises into the program.

    `beside` holds off collections of garbage already.
    """
    recordings: list[Recording] = []
    state = _recorded(folder, attacher, beside, recordings)
    with GivingWay() as leaving:
        beside.let_go()
        for recording in recordings:
            recording.end()
            state = state or {"state": "detached", "problem": recording.recorder.writer.lost}
    if state:
        _report(folder, **state, held=leaving.longest, waited=leaving.waited)


def _recorded(
    folder: str, attacher: int, beside: GivingWay, recordings: list[Recording]
) -> dict[str, object]:
    """Record until asked to stop; the recording is appended to the list. Why there is none."""
    if _asked_to_stop(folder, attacher):
        return {}  # a native call kept us waiting, and nobody is there any more
    recorded = os.environ.get("UNSLOW_RUN") or getattr(sys.modules.get(_MARK), "folder", "")
    if recorded:
        return {"state": "refused", "why": "it is being recorded already", "into": recorded}
    if "tensorflow" not in sys.modules:
        return {"state": "refused", "why": "it has not imported TensorFlow"}
    sys.modules[_MARK] = _Mark(folder)
    try:
        while _is_importing() and not _asked_to_stop(folder, attacher):
            beside.collect_if_late()
            time.sleep(_ASK_EVERY)
        _record(folder, attacher, beside, recordings)
    except Exception as problem:  # noqa: BLE001 - the fence: the program goes on without us
        return {"state": "failed", "why": f"{type(problem).__name__}: {problem}"}
    finally:
        sys.modules.pop(_MARK, None)
    return {}


class _Mark(type(sys)):  # type: ignore[misc]
    """Stands in `sys.modules` for the recording under way."""

    def __init__(self, folder: str) -> None:
        super().__init__(_MARK)
        self.folder = folder


def _is_importing() -> bool:
    """Whether TensorFlow is only being imported: its modules must be whole before they are
    wrapped."""
    spec = getattr(sys.modules.get("tensorflow"), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def _record(folder: str, attacher: int, beside: GivingWay, recordings: list[Recording]) -> None:
    """`held` is the longest that this thread worked without a rest, `waited` its time without a
    processor."""
    with beside:
        recordings.append(_recording(beside.rest)(folder, beside=beside))
        recordings[0].start_late(beside)
    _report(folder, state="recording", held=beside.longest, waited=beside.waited)
    while not _asked_to_stop(folder, attacher):
        time.sleep(_ASK_EVERY)


def _recording(rest: Callable[[], None]) -> type[Recording]:
    """The class that records, imported bit by bit."""
    for part in _PARTS:
        importlib.import_module(f"unslow.{part}")
        rest()
    from unslow.record.engine.start import Recording

    return Recording


def _asked_to_stop(folder: str, attacher: int) -> bool:
    return not os.path.exists(os.path.join(folder, GOES_ON)) or not _is_alive(attacher)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # alive, and another user's
        return True
    return True


def _report(folder: str, **values: object) -> None:
    """Overwrite the state in its place, as long as it was: that works on a full disk, too."""
    path = os.path.join(folder, STATE)
    try:
        state = os.open(path, os.O_WRONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            text = json.dumps(values)[:STATE_BYTES].encode("utf-8", "replace")
            os.pwrite(state, text.ljust(STATE_BYTES), 0)
        finally:
            os.close(state)
    except OSError:  # the folder is gone: nobody waits for an answer
        pass
