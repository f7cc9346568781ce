"""Starts a command, recorded, waits for it, and returns how it ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unslow.proof import run_folder
from unslow.proof.membership import Register
from unslow.proof.signal_handlers import Handler, handling

INJECT = Path(__file__).parents[1] / "record" / "inject"


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
    about = run_folder.header(command, env, str(options.get("cwd") or Path.cwd()))
    _begin(folder, about, register)
    began = time.perf_counter()
    try:
        child = subprocess.Popen(command, env=env, **options)  # type: ignore[call-overload]
    except OSError as problem:
        raise run_folder.cannot_start(command[0], folder, problem) from None
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
        return run_folder.write_header(folder, about)
    with contextlib.suppress(OSError):  # the training runs all the same
        register.begin(about)


def _finish(
    folder: str, about: dict[str, object], how: dict[str, object], register: Register | None
) -> None:
    if register is None:
        return run_folder.write_header(folder, {**about, **how})
    with contextlib.suppress(OSError):
        register.finish(how)


def ending(ended: Ended) -> dict[str, object]:
    """What is known about a run once it has ended."""
    return {"ended": ended.text, "code": ended.code, "seconds": ended.seconds}


def ended_with(code: int, seconds: float, interrupted: bool = False) -> Ended:
    """From a code as `subprocess` says it: negative where a signal killed the process."""
    return Ended(code if code >= 0 else 128 - code, max(0, -code), seconds, interrupted)


_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def _wait(child: subprocess.Popen[bytes], until: float | None) -> tuple[int, bool]:
    """Wait without dying before the child: Ctrl-C reaches it too, other signals are passed on."""
    interrupts: list[int] = []

    def forward(number: int, frame: object) -> None:
        child.send_signal(number)

    handlers: dict[int, Handler] = dict.fromkeys(_PASSED_ON, forward)
    handlers[signal.SIGINT] = lambda number, frame: interrupts.append(number)
    left = None if until is None else max(0.0, until - time.perf_counter())
    with handling(handlers):
        try:
            return child.wait(timeout=left), bool(interrupts)
        except subprocess.TimeoutExpired:
            child.kill()
            return child.wait(), bool(interrupts)


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
