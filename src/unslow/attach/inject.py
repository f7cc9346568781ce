"""Getting code to run inside another Python process, by the best way there is.

`sys.remote_exec` on Python 3.14 and later; hypno (extra `attach`), which injects a small library by
ptrace; gdb, where it is installed. The injected code only starts a thread: the training is held up
for milliseconds."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from unslow.attach.target import Target, has_ended
from unslow.attach.threads import idle_thread
from unslow.errors import UnslowError
from unslow.record.engine.attached import STATE

PACKAGE = Path(__file__).parents[1]
# Seconds. A call that does not release Python's lock may last as long as it likes; nobody waits
# longer at a terminal.
_PATIENCE = 20.0
_POLL = 0.02
_REFUSED = ("Operation not permitted", "EPERM", "ptrace: ", "Permission denied", "permission")
_STUCK = "it is in a long native call that keeps Python's lock"

# Loads unslow from its own folder, as the recording's sitecustomize does: nothing else of this
# environment comes along, and unslow need not be installed in the other one.
_LOAD = """
import sys, _frozen_importlib, _frozen_importlib_external
def load(name, path, **more):
    spec = _frozen_importlib_external.spec_from_file_location(name, {package!r} + path, **more)
    module = sys.modules[name] = _frozen_importlib.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
beside = record = None
try:
    name = "unslow.record.engine.giving_way"
    first = sys.modules.get(name) or load(name, "/record/engine/giving_way.py")
    if begun:
        gc.disable = begun[0]
    beside = first.GivingWay(new_thread=True)
    beside.hold_off(bool(begun))
    if "unslow" not in sys.modules:
        load("unslow", "/__init__.py", submodule_search_locations=[{package!r}])
    from unslow.record.engine.attached import record
    record({folder!r}, {attacher}, beside)
except BaseException as problem:  # the program must not see it, nor its output
    try:
        with open({state!r}, "r+") as file:
            why = type(problem).__name__ + " while loading"
            file.write('{{"state": "failed", "why": "' + why + '"}}')
    except OSError:
        pass
finally:
    if beside is not None:
        beside.let_go()
    elif begun:
        gc.disable = begun[0]
        gc.enable()
    load = first = beside = record = None
"""
# All of it runs on a new thread, which holds off collections of garbage before it makes 700
# objects: else they would make one due. `begun` is empty where the program has disabled them, and
# as soon as it does so.
_BEGIN = """
import gc
begun = [gc.disable] * gc.isenabled()
if begun:
    gc.disable = begun.clear
    begun[0]()
exec({load!r})
"""
# Code is injected into the namespace of `__main__`, which keeps no name of ours.
_START = "__import__('_thread').start_new_thread(exec, ({begin!r}, {{}}))"

_REMOVE = """
import os
try:
    os.truncate({script!r}, 0)
    os.unlink({script!r})
except OSError:
    pass
"""

_HYPNO = """
import sys
from hypno import inject_py
from pyinjector import PyInjectorError
try:
    inject_py(int(sys.argv[1]), sys.argv[2])
except PyInjectorError as problem:
    sys.exit(str(problem))
"""


def inject(target: Target, folder: Path) -> str:
    """Start the recorder inside the process; gives the name of the way in."""
    load = _LOAD.format(
        package=str(PACKAGE), folder=str(folder), state=str(folder / STATE), attacher=os.getpid()
    )
    code = _START.format(begin=_BEGIN.format(load=load))
    problems: list[str] = []
    for name, way in _ways(target, folder):
        try:
            way(target.pid, code)
        except subprocess.TimeoutExpired:
            raise _stuck(target) from None
        except (OSError, RuntimeError, subprocess.SubprocessError) as problem:
            problems.append(f"{name}: {problem}")
            continue
        return name
    raise _no_way_in(target, problems)


def _ways(target: Target, folder: Path) -> list[tuple[str, Callable[[int, str], None]]]:
    ways: list[tuple[str, Callable[[int, str], None]]] = []
    same = target.python == sys.version_info[:2]
    if sys.version_info >= (3, 14) and same:
        script = folder.with_name(f"{folder.name}.attach.py")
        ways.append(("sys.remote_exec", partial(_remote_exec, script)))
    if importlib.util.find_spec("hypno") is not None:
        ways.append(("hypno", _hypno))
    if shutil.which("gdb"):
        ways.append(("gdb", _gdb))
    return ways


def _remote_exec(script: Path, pid: int, code: str) -> None:
    """The main thread of the process reads the script once it runs Python again, and removes it.

    A script that was not read stays, without the recorder: Python reports one that is gone on the
    program's stderr."""
    remove = _REMOVE.format(script=str(script))
    script.write_text(remove + code, encoding="utf-8")
    try:
        owner = Path(f"/proc/{pid}").stat()
        if owner.st_uid != os.geteuid():
            os.chown(script, owner.st_uid, owner.st_gid)
        sys.remote_exec(pid, str(script))  # type: ignore[attr-defined,unused-ignore]
    except BaseException:
        script.unlink(missing_ok=True)
        raise
    end = time.monotonic() + _PATIENCE
    while _is_unread(script):
        if has_ended(pid):
            script.unlink(missing_ok=True)
            raise RuntimeError("it ended")
        if time.monotonic() > end:
            script.write_text(remove, encoding="utf-8")
            raise RuntimeError(f"its main thread has not run any Python for {_PATIENCE:.0f} s")
        time.sleep(_POLL)
    script.unlink(missing_ok=True)


def _is_unread(script: Path) -> bool:
    try:
        return script.stat().st_size > 0
    except FileNotFoundError:
        return False


def _hypno(pid: int, code: str) -> None:
    """By a thread that sleeps, if there is one: the others run on meanwhile."""
    thread = idle_thread(pid) or pid
    try:
        status, said = _patiently([sys.executable, "-c", _HYPNO, str(thread), code])
    except subprocess.TimeoutExpired:
        if Path(f"/proc/{pid}/task/{thread}").exists():
            raise
        _left.pop().kill()  # it waits for a thread that has ended, and traces nothing
        status, said = _patiently([sys.executable, "-c", _HYPNO, str(pid), code])
    if status:
        raise RuntimeError(said.strip() or f"it ended with {status}")


def _gdb(pid: int, code: str) -> None:
    """Call Python's own C functions in the stopped process."""
    calls = [
        "set $state = (int) PyGILState_Ensure()",
        f"call (int) PyRun_SimpleString({_c_string(code)})",
        "call (void) PyGILState_Release($state)",
    ]
    words = ["gdb", "-batch", "-nx", "-p", str(pid)]
    for call in calls:
        words += ["-ex", call]
    status, said = _patiently(words)
    if status or "$1 = 0" not in said:
        lines = said.strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"it ended with {status}")


def _patiently(words: list[str]) -> tuple[int, str]:
    """Run a command that traces the process: its exit code and what it printed.

    It is not killed where it takes too long, and Ctrl-C does not reach it: a thread that was left
    in the middle of an injected call would take its process with it."""
    tracing = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = tracing.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        _left.append(tracing)
        raise
    return tracing.returncode, said


_left: list[subprocess.Popen[str]] = []  # commands that still wait for the process


def _c_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _stuck(target: Target) -> UnslowError:
    return UnslowError(
        f"cannot attach to process {target.pid}",
        f"{_STUCK}: no other Python code has run in it for {_PATIENCE:.0f} s",
        "Nothing was recorded, and nothing will be. Attach again once it has gone on.",
        "attach",
    )


def ended(target: Target) -> UnslowError:
    what = f"cannot attach to process {target.pid}"
    return UnslowError(what, "it ended meanwhile", "Attach to a process that runs.", "attach")


def _no_way_in(target: Target, problems: list[str]) -> UnslowError:
    what = f"cannot attach to process {target.pid}"
    if not problems:
        return UnslowError(
            what,
            "there is no way to run code inside it: neither hypno nor gdb is installed",
            "Install one: pip install 'unslow[attach]'",
            "attach",
        )
    if not Path(f"/proc/{target.pid}").exists():
        return ended(target)
    if any(mark in problem for problem in problems for mark in _REFUSED):
        return UnslowError(
            what,
            "the system does not allow to trace it (ptrace)",
            "Attach as root or as its user; in a container add --cap-add=SYS_PTRACE; "
            "or allow it: sysctl kernel.yama.ptrace_scope=0",
            "attach",
        )
    return UnslowError(
        what, "; ".join(problems), "Record it from the start: unslow run …", "attach"
    )
