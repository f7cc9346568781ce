"""Starts a command, bare or recorded, waits for it, and hands back how it ended."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import unslow
from unslow.errors import UnslowError
from unslow.runfolder import layout as runfile

INJECT = Path(__file__).parents[1] / "record" / "inject"
RUNS = ".unslow"

# What of the environment is kept with a run: enough to run it again, nothing that could be a secret.
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
    """The command line that bare Python would get: a script, `-m module`, or any program as it is."""
    interpreter = python or default_python()
    if module:
        return [interpreter, "-m", *words]
    if words[0].endswith(".py") or (Path(words[0]).is_file() and not os.access(words[0], os.X_OK)):
        if not Path(words[0]).is_file():
            raise UnslowError(
                f"cannot run {words[0]}",
                "there is no such file",
                f"Which file below {Path.cwd().name}/ starts the training?",
                "no-script",
            )
        return [interpreter, *words]
    return list(words)


def default_python() -> str:
    """This interpreter where it has TensorFlow, else the first `python` on the path that is another one."""
    from importlib.util import find_spec

    if find_spec("tensorflow") is not None:
        return sys.executable
    for name in ("python", "python3"):
        found = shutil.which(name)
        if found and not Path(found).samefile(sys.executable):
            return found
    return sys.executable


def new_folder(out: str | None, name: str) -> str:
    """A folder for a run: `.unslow/<time>-<name>` unless another place was named."""
    if out:
        folder = Path(out)
    else:
        stamp = time.strftime("%Y%m%d-%H%M%S")
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", Path(name).stem) or "run"
        folder = Path(RUNS) / f"{stamp}-{stem}"
        number = 1
        while folder.exists():
            number += 1
            folder = Path(RUNS) / f"{stamp}-{stem}-{number}"
    if folder.exists() and any(folder.iterdir()):
        raise UnslowError(
            f"cannot record into {folder}",
            "it is not empty",
            "Name another folder with --out.",
            "folder-in-use",
        )
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder.resolve())


def environment(folder: str, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The user's environment and what is added to it, with the way in before any PYTHONPATH."""
    env = {**os.environ, **(extra or {})}
    path = env.get("PYTHONPATH")
    env["PYTHONPATH"] = f"{INJECT}{os.pathsep}{path}" if path else str(INJECT)
    env["UNSLOW_RUN"] = folder
    return env


def record(
    command: Sequence[str],
    folder: str | None,
    extra: Mapping[str, str] | None = None,
    meanwhile: Callable[[], None] | None = None,
    timeout: float | None = None,
    **options: object,
) -> Ended:
    """Run a command with its own terminal and streams; recorded unless `folder` is None."""
    env = environment(folder, extra) if folder else {**os.environ, **(extra or {})}
    header = {
        "unslow": unslow.__version__,
        "command": list(command),
        "cwd": str(options.get("cwd") or Path.cwd()),
        "stdin": _stdin(),
        "environment": {key: value for key, value in env.items() if key.startswith(_KEPT)},
        "started": time.time(),
        "clock": time.perf_counter_ns(),
        "launcher": os.getpid(),
    }
    if folder:
        _write(folder, header)
    began = time.perf_counter()
    try:
        child = subprocess.Popen(command, env=env, **options)  # type: ignore[call-overload]
    except OSError as problem:
        raise UnslowError(
            f"cannot run {command[0]}",
            problem.strerror or str(problem),
            "Is the command spelled as you would type it without unslow?",
            "no-command",
        ) from None
    code, interrupted = _wait(child, meanwhile, began + timeout if timeout else None)
    ended = Ended(
        code if code >= 0 else 128 - code, max(0, -code), time.perf_counter() - began, interrupted
    )
    if folder:
        _write(
            folder, {**header, "ended": ended.text, "code": ended.code, "seconds": ended.seconds}
        )
    return ended


def _write(folder: str, header: dict[str, object]) -> None:
    try:
        runfile.write_header(folder, header)
    except OSError:
        return  # the training runs all the same; the report then says what is missing


def _stdin() -> str:
    """Where the command's input comes from, if it can be had again: a file's path, or nothing."""
    try:
        path = str(Path("/proc/self/fd/0").readlink())
    except OSError:
        return ""
    return path if Path(path).is_file() else ""


def _wait(
    child: subprocess.Popen[bytes], meanwhile: Callable[[], None] | None, until: float | None
) -> tuple[int, bool]:
    """Wait without ever dying before the child: Ctrl-C reaches it too, and other signals are passed on."""
    interrupts: list[int] = []

    def forward(number: int, frame: object) -> None:
        child.send_signal(number)

    kept = {
        signal.SIGINT: signal.signal(signal.SIGINT, lambda number, frame: interrupts.append(number))
    }
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        kept[number] = signal.signal(number, forward)
    try:
        while True:
            try:
                return child.wait(timeout=0.5 if meanwhile or until else None), bool(interrupts)
            except subprocess.TimeoutExpired:
                if until is not None and time.perf_counter() > until:
                    child.kill()
                if meanwhile is not None:
                    meanwhile()
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
