"""Getting code to run inside another Python process, by the best way there is.

`sys.remote_exec` on Python 3.14 and later; hypno (extra `attach`), which injects a small library by ptrace;
gdb, where it is installed. The injected code only starts a thread: the process is held up for milliseconds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from unslow.attach.target import Target
from unslow.errors import UnslowError

_PACKAGE = Path(__file__).parents[1]
_PATIENCE = 30.0  # seconds: a process in a long native call takes the code when it comes back
_REFUSED = ("Operation not permitted", "EPERM", "ptrace: ", "Permission denied")

# Loads unslow from its own folder, as the recording's sitecustomize does: nothing else of this
# environment comes along, and unslow need not be installed in the other one.
_CODE = """
import sys as _s, importlib.util as _u
if "unslow" not in _s.modules:
    _p = {package!r}
    _d = _u.spec_from_file_location("unslow", _p + "/__init__.py", submodule_search_locations=[_p])
    _m = _u.module_from_spec(_d); _s.modules["unslow"] = _m; _d.loader.exec_module(_m)
import _thread
def _unslow():
    from unslow.record.engine.attached import begin
    begin({folder!r}, {attacher})
_thread.start_new_thread(_unslow, ())
"""


def inject(target: Target, folder: Path) -> str:
    """Start the recorder inside the process; gives the name of the way in."""
    code = _CODE.format(package=str(_PACKAGE), folder=str(folder), attacher=os.getpid())
    problems: list[str] = []
    for name, way in _ways(target):
        try:
            way(target.pid, code)
        except (OSError, RuntimeError, subprocess.SubprocessError) as problem:
            problems.append(f"{name}: {problem}")
            continue
        return name
    raise _no_way_in(target, problems)


def _ways(target: Target) -> list[tuple[str, Callable[[int, str], None]]]:
    ways: list[tuple[str, Callable[[int, str], None]]] = []
    same = target.python == sys.version_info[:2]
    if sys.version_info >= (3, 14) and same:
        ways.append(("sys.remote_exec", _remote_exec))
    if _has_hypno():
        ways.append(("hypno", _hypno))
    if shutil.which("gdb"):
        ways.append(("gdb", _gdb))
    return ways


def _has_hypno() -> bool:
    import importlib.util

    return importlib.util.find_spec("hypno") is not None


def _remote_exec(pid: int, code: str) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as script:
        script.write(code)
    os.chmod(script.name, 0o644)  # noqa: PTH101 - read by the other process
    sys.remote_exec(pid, script.name)  # type: ignore[attr-defined,unused-ignore]


def _hypno(pid: int, code: str) -> None:
    from hypno import inject_py
    from pyinjector import InjectorError

    try:
        inject_py(pid, f"exec({code!r})")
    except InjectorError as problem:
        raise RuntimeError(str(problem)) from None


def _gdb(pid: int, code: str) -> None:
    """Call Python's own C functions in the stopped process."""
    calls = [
        "set $state = (int) PyGILState_Ensure()",
        f"call (int) PyRun_SimpleString({_c_string(f'exec({code!r})')})",
        "call (void) PyGILState_Release($state)",
    ]
    words = ["gdb", "-batch", "-nx", "-p", str(pid)]
    for call in calls:
        words += ["-ex", call]
    done = subprocess.run(words, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    if done.returncode or "$1 = 0" not in done.stdout:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(said[-1] if said else f"gdb ended with {done.returncode}")


def _c_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _no_way_in(target: Target, problems: list[str]) -> UnslowError:
    what = f"cannot attach to process {target.pid}"
    if not problems:
        return UnslowError(
            what,
            "there is no way to run code inside it: neither hypno nor gdb is installed",
            "Install one: pip install 'unslow[attach]'",
            "attach",
        )
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
