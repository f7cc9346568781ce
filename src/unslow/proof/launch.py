"""Starts a command, recorded, waits for it, and returns how it ended."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import unslow
from unslow.errors import UnslowError, suggestion
from unslow.proof.membership import Register
from unslow.runfolder import layout as runfile

INJECT = Path(__file__).parents[1] / "record" / "inject"
RUNS = ".unslow"

# Variables kept with a run: enough to run it again, nothing that could be a secret.
_KEPT = (
    "TF_",
    "KERAS_",
    "XLA_",
    "OMP_",
    "KMP_",
    "MKL_",
    "CUDA_",
    "MALLOC_",
    "PYTHONHASHSEED",
    "PYTHONPATH",
)


@dataclass(frozen=True)
class Ended:
    """How a command ended: `code` as the shell would say it, `signal` when it was killed."""

    code: int
    signal: int
    seconds: float
    interrupted: bool = False  # Ctrl-C was typed meanwhile, whatever the command made of it

    @property
    def text(self) -> str:
        if self.signal:
            return f"killed by {signal.Signals(self.signal).name}"
        return f"exit {self.code}"


def command_for(words: Sequence[str], python: str | None = None, module: bool = False) -> list[str]:
    """The command that bare Python would get: a script, `-m module`, or any program."""
    interpreter = python or default_python()
    if module:
        return [interpreter, "-m", *words]
    path = Path(words[0])
    if path.suffix == ".py" or (path.is_dir() and (path / "__main__.py").is_file()):
        if not path.exists():
            raise _cannot_run(path, "there is no such file", _similar_scripts(path), "no-script")
        return [interpreter, *words]
    if path.is_dir():
        hint = "Name the file in it that starts the training."
        raise _cannot_run(path, "it is a folder without __main__.py", hint, "no-script")
    if path.is_file() and not os.access(path, os.X_OK):
        _must_be_python(path)
        return [interpreter, *words]
    return list(words)


def _cannot_run(path: Path, why: str, next_step: str, slug: str) -> UnslowError:
    return UnslowError(f"cannot run {path}", why, next_step, slug)


def _similar_scripts(path: Path) -> str:
    nearby = [str(each) for each in path.parent.glob("*.py")] if path.parent.is_dir() else []
    return suggestion(str(path), nearby) or "Which file starts the training?"


def _must_be_python(path: Path) -> None:
    """Refuse a file that cannot be parsed before the run."""
    if path.suffix == ".ipynb":
        hint = f"Convert it first: jupyter nbconvert --to script {path}"
        raise _cannot_run(path, "it is a notebook", hint, "no-script")
    try:
        compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as problem:
        hint = f"If another program runs it, type: unslow run -- PROGRAM {path}"
        raise _cannot_run(path, f"it is not Python ({problem})", hint, "no-script") from None


def default_python() -> str:
    """This interpreter where it has TensorFlow, else the first other `python` on the path."""
    from importlib.util import find_spec

    if find_spec("tensorflow") is not None:
        return sys.executable
    for name in ("python", "python3"):
        found = shutil.which(name)
        if found and not Path(found).samefile(sys.executable):
            return found
    return sys.executable


def new_folder(out: str | None, name: str, runs: str = RUNS) -> str:
    """A folder for a run: `<runs>/<time>-<name>` unless another place was named."""
    folder = Path(out) if out else _unused(Path(runs), name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UnslowError(
            f"cannot record into {folder}",
            "it is not empty" if folder.is_dir() else "it is a file",
            "Name another folder with --out.",
            "folder-in-use",
        )
    folder.mkdir(parents=True, exist_ok=True)
    if not out:
        _keep_out_of_version_control(Path(runs))
    return str(folder.resolve())


def _unused(runs: Path, name: str) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", Path(name).stem) or "run"
    names = (f"{stamp}-{stem}{ending}" for ending in ("", *(f"-{n}" for n in range(2, 1000))))
    return next(runs / each for each in names if not (runs / each).exists())


def _keep_out_of_version_control(runs: Path) -> None:
    """Recordings hold sources and paths of one machine: git must ignore their folder."""
    try:
        with (runs / ".gitignore").open("x", encoding="utf-8") as file:
            file.write("*\n")
    except OSError:
        return  # it is there already, or the folder is read-only


def environment(folder: str, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The user's environment, with the folder of our sitecustomize first on PYTHONPATH."""
    env = {**os.environ, **(extra or {})}
    path = env.get("PYTHONPATH")
    env["PYTHONPATH"] = f"{INJECT}{os.pathsep}{path}" if path else str(INJECT)
    env["UNSLOW_RUN"] = folder
    return env


@dataclass(frozen=True)
class Started:
    """A recorded command that runs; `about` is the header of its run folder."""

    child: subprocess.Popen[bytes]
    folder: str
    about: dict[str, object]
    began: float
    register: Register | None = None

    def ended(self, code: int, interrupted: bool = False) -> Ended:
        """Note how it ended; `code` as `subprocess` says it."""
        how = ended_with(code, time.perf_counter() - self.began, interrupted)
        _finish(self.folder, self.about, ending(how), self.register)
        return how


def start(
    command: Sequence[str],
    folder: str,
    extra: Mapping[str, str] | None = None,
    register: Register | None = None,
    **options: object,
) -> Started:
    """Start a command with its own terminal and streams, recorded into a folder.

    `register`: the folder belongs to a job of which this command is one process.
    """
    env = environment(folder, extra)
    about = header(command, env, str(options.get("cwd") or Path.cwd()))
    _begin(folder, about, register)
    began = time.perf_counter()
    try:
        child = subprocess.Popen(command, env=env, **options)  # type: ignore[call-overload]
    except OSError as problem:
        raise cannot_start(command[0], folder, problem) from None
    return Started(child, folder, about, began, register)


def record(
    command: Sequence[str],
    folder: str,
    extra: Mapping[str, str] | None = None,
    timeout: float | None = None,
    register: Register | None = None,
    **options: object,
) -> Ended:
    """Run a command, recorded into a folder, to its end."""
    return wait(start(command, folder, extra, register, **options), timeout)


def wait(started: Started, timeout: float | None = None) -> Ended:
    """Wait for a command; after `timeout` seconds it is killed."""
    code, interrupted = _wait(started.child, started.began + timeout if timeout else None)
    return started.ended(code, interrupted)


def _begin(folder: str, about: dict[str, object], register: Register | None) -> None:
    if register is None:
        return write_header(folder, about)
    with contextlib.suppress(OSError):  # the training runs all the same
        register.begin(about)


def _finish(
    folder: str, about: dict[str, object], how: dict[str, object], register: Register | None
) -> None:
    if register is None:
        return write_header(folder, {**about, **how})
    with contextlib.suppress(OSError):
        register.finish(how)


def header(command: Sequence[str], env: Mapping[str, str], cwd: str = "") -> dict[str, object]:
    """What is known about a run before it begins."""
    return {
        "unslow": unslow.__version__,
        "command": list(command),
        "cwd": cwd or str(Path.cwd()),
        "stdin": _stdin(),
        "environment": {key: value for key, value in env.items() if key.startswith(_KEPT)},
        "started": time.time(),
        "clock": time.perf_counter_ns(),
        "launcher": os.getpid(),
        "host": socket.gethostname(),
        "commit": _commit(cwd or None),
    }


def _commit(cwd: str | None) -> str:
    """The commit that is checked out here: runs of many weeks are compared by it."""
    try:
        found = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=cwd, capture_output=True, timeout=2, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.decode("ascii", "replace").strip() if found.returncode == 0 else ""


def ending(ended: Ended) -> dict[str, object]:
    """What is known about a run once it has ended."""
    return {"ended": ended.text, "code": ended.code, "seconds": ended.seconds}


def ended_with(code: int, seconds: float, interrupted: bool = False) -> Ended:
    """From a code as `subprocess` says it: negative where a signal killed the process."""
    return Ended(code if code >= 0 else 128 - code, max(0, -code), seconds, interrupted)


def cannot_start(program: str, folder: str, problem: OSError) -> UnslowError:
    """A command that could not be started leaves no run behind."""
    _forget(Path(folder))
    return UnslowError(
        f"cannot run {program}",
        problem.strerror or str(problem),
        "Is the command spelled as you would type it without unslow?",
        "no-command",
    )


def write_header(folder: str, about: dict[str, object]) -> None:
    try:
        runfile.write_header(folder, about)
    except OSError:
        return  # the training runs all the same; the report then says what is missing


def _forget(folder: Path) -> None:
    """A command that never started leaves no run behind."""
    try:
        (folder / runfile.HEADER).unlink(missing_ok=True)
        folder.rmdir()
    except OSError:
        return  # something else is in it: it is not ours to delete


def _stdin() -> str:
    """Where the command's input comes from, if it can be had again: a file's path, or nothing."""
    try:
        path = str(Path("/proc/self/fd/0").readlink())
    except OSError:
        return ""
    return path if Path(path).is_file() else ""


_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def _wait(child: subprocess.Popen[bytes], until: float | None) -> tuple[int, bool]:
    """Wait without dying before the child: Ctrl-C reaches it too, other signals are passed on."""
    interrupts: list[int] = []

    def forward(number: int, frame: object) -> None:
        child.send_signal(number)

    kept = {number: signal.signal(number, forward) for number in _PASSED_ON}
    kept[signal.SIGINT] = signal.signal(
        signal.SIGINT, lambda number, frame: interrupts.append(number)
    )
    left = None if until is None else max(0.0, until - time.perf_counter())
    try:
        return child.wait(timeout=left), bool(interrupts)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait(), bool(interrupts)
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def die_as(ended: Ended) -> None:
    """Leave with the command's own ending: its exit code, or the signal that killed it."""
    if not ended.signal:
        sys.exit(ended.code)
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout.flush()
    sys.stderr.flush()
    if ended.signal not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(ended.signal, signal.SIG_DFL)
    os.kill(os.getpid(), ended.signal)
    sys.exit(ended.code)
