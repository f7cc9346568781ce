"""Starts and ends a recording in a process that is already running.

`unslow attach` runs `begin` inside the process. Everything slow happens on a thread of our own, so that
the program is not held up. The recording ends when the attaching process asks for it by a file in the run
folder, or when that process is gone: nothing needs to be injected a second time.
"""

from __future__ import annotations

import _thread
import os
import sys
import time

from unslow.record.engine.start import Recording

STOP = "detach"  # a file of this name in the run folder asks for the end
STATE = "attached.json"  # what happened inside the process, for the attaching side
_ASK_EVERY = 0.2  # seconds between looks at the stop file: what a user waits after Ctrl-C
_MARK = "unslow.attached"  # an entry of sys.modules while a recording is attached


def begin(folder: str, attacher: int) -> None:
    """Record this process into a folder until asked to stop. Never raises into the program."""
    _thread.start_new_thread(_record, (folder, attacher))


def _record(folder: str, attacher: int) -> None:
    if _MARK in sys.modules or os.environ.get("UNSLOW_RUN"):
        _report(folder, state="refused", why="this process is being recorded already")
        return
    if "tensorflow" not in sys.modules:
        _report(folder, state="refused", why="this process has not imported TensorFlow")
        return
    sys.modules[_MARK] = sys.modules[__name__]
    try:
        began = time.perf_counter()
        recording = Recording(folder, attached=True)
        armed = time.perf_counter()
        recording.start()
        paused = time.perf_counter() - armed
        _report(folder, state="recording", loading=armed - began, arming=paused)
        while not _asked_to_stop(folder, attacher):
            time.sleep(_ASK_EVERY)
        disarming = time.perf_counter()
        recording.end()
        _report(folder, state="detached", disarming=time.perf_counter() - disarming)
    except Exception as problem:  # noqa: BLE001 - the fence: the program goes on without us
        _report(folder, state="failed", why=f"{type(problem).__name__}: {problem}")
    finally:
        sys.modules.pop(_MARK, None)


def _asked_to_stop(folder: str, attacher: int) -> bool:
    return os.path.exists(os.path.join(folder, STOP)) or not _is_alive(attacher)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # alive, and another user's
        return True
    return True


def _report(folder: str, **values: object) -> None:
    """Replace the state in one move; a folder that cannot be written is the attaching side's matter."""
    import json

    draft = os.path.join(folder, f".{STATE}.{os.getpid()}")
    try:
        with open(draft, "w", encoding="utf-8") as file:
            json.dump(values, file)
        os.replace(draft, os.path.join(folder, STATE))
    except OSError:
        pass
