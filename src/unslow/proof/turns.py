"""Two trials at once, each halted while the other one runs, so that both meet the same machine.

Trials that follow each other are ten seconds apart, in which a shared machine may become twice as
slow. Here the two processes take turns of a fraction of a second. The time in which a process was
halted is taken out of its steps. It needs a system with SIGSTOP and the memory of both processes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType

import numpy as np

from unslow.model import Loop, Run
from unslow.proof import launch
from unslow.proof.signal_handlers import handling
from unslow.proof.trials import (
    Floats,
    Side,
    Trial,
    every_step,
    recorded_in,
    started_side,
    trial_environment,
    trial_of,
)

# Seconds. The shorter, the more alike is the machine that both meet; but a wait (for a disk, for a
# server) that a halt falls into goes on meanwhile, and filling the caches again takes about a
# millisecond. A judgement between them, after trying 0.05 and 0.25.
TURN = 0.1
_NANOSECONDS = 1e9
_ENDINGS = (signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGTERM,)
# Two processes cannot share a GPU of which TensorFlow takes all memory.
_ACCELERATORS = ("nvidia[0-9]*", "kfd", "accel[0-9]*")


@dataclass
class _Player:
    """One process of a pair: it runs in its turns, and is halted between them."""

    started: launch.Started
    halted_at: int = 0
    halts: list[tuple[int, int]] = field(default_factory=list)  # nanoseconds of our clock

    @property
    def runs(self) -> bool:
        return self.started.child.poll() is None

    # The clock is read before a signal is sent: after it, others may run while we wait for a
    # processor.

    def halt(self) -> None:
        self.halted_at = time.perf_counter_ns()
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.halts.append((self.halted_at, time.perf_counter_ns()))
        self._signal(signal.SIGCONT)

    def wait(self, seconds: float | None = None) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.started.child.wait(seconds)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)
        self.started.child.wait()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.started.child.pid, number)


def can_take_turns(runs: Sequence[Run]) -> bool:
    """Whether two such processes may live at the same time: by system, accelerator and memory."""
    if not hasattr(signal, "SIGSTOP"):
        return False
    if any(list(Path("/dev").glob(name)) for name in _ACCELERATORS):
        return False
    processes = [process for run in runs for process in run.processes]
    needed = sum(process.own.get("peak_rss_bytes", 0.0) for process in processes)
    total = min((process.machine.get("memory_bytes", 0.0) for process in processes), default=0.0)
    return not total or needed < _MEMORY * total


_MEMORY = 0.6  # of the machine's: the rest is for others and for the system's caches (judgement)


def run_in_turns(
    sides: tuple[Side, Side], steps: int, first: int = 0, timeout: float = 3600.0
) -> tuple[Trial, Trial]:
    """One trial of each side; `first` has the first turn. Leaves no files or processes behind."""
    with contextlib.ExitStack() as stack:
        temporary = [tempfile.TemporaryDirectory(prefix="unslow-trial-") for _ in sides]
        places = [Path(stack.enter_context(folder)) for folder in temporary]
        players = []
        for side, place in zip(sides, places, strict=True):
            extra = trial_environment(side, place, steps, {})
            begun = stack.enter_context(started_side(side, place, extra, **_own_group()))
            player = _Player(begun)
            stack.callback(player.kill)
            player.halt()
            players.append(player)
        with handling(dict.fromkeys(_ENDINGS, _leave)):
            _alternate(players, first, time.monotonic() + timeout)
        one, other = (_trial(player, place) for player, place in zip(players, places, strict=True))
    return one, other


def _own_group() -> dict[str, object]:
    """A group that can be halted as a whole; if we are killed, the system ends halted groups."""
    if sys.version_info >= (3, 11):
        return {"process_group": 0}
    return {"preexec_fn": os.setpgrp}


def _alternate(players: Sequence[_Player], first: int, until: float) -> None:
    turn = first
    while all(player.runs for player in players) and time.monotonic() < until:
        players[turn].resume()
        players[turn].wait(TURN)
        players[turn].halt()
        turn = 1 - turn
    for player in players:
        if player.runs:
            player.resume()
            player.wait(max(0.0, until - time.monotonic()))
        if player.runs:
            player.kill()


def _leave(number: int, frame: FrameType | None) -> None:
    """A signal that would end us acts as Ctrl-C does, so that no halted process stays behind."""
    raise KeyboardInterrupt


def _trial(player: _Player, place: Path) -> Trial:
    child = player.started.child
    recorded = recorded_in(place, player.started.ended(child.returncode))
    trial = trial_of(recorded, place)
    if not recorded.run.loops:
        return trial
    origin = min(one.start for one in recorded.run.origins.values())
    halts = (np.array(player.halts, dtype=float) - origin) / _NANOSECONDS
    loops = sorted(recorded.run.loops, key=lambda loop: loop.start)
    active = [without_halts(loop, halts) for loop in loops]
    return replace(trial, seconds=every_step(loops, active))


def without_halts(loop: Loop, halts: Floats) -> Floats:
    """Seconds of a loop's steps without those in which the process was halted.

    `halts` has a row for each: when it began and ended, in seconds of the run.
    """
    moments = np.concatenate([[loop.start], loop.end])
    lost = np.diff(_halted_until(moments, halts))
    active: Floats = loop.seconds - lost / loop.count
    # A halt within an inspection of ours is counted in both; what the step took is not known then.
    unknown = active <= 0.0
    if unknown.any() and not unknown.all():
        active[unknown] = np.median(active[~unknown])
    return active


def _halted_until(moments: Floats, halts: Floats) -> Floats:
    """Seconds of halts before each moment."""
    lengths = np.clip(moments[:, None] - halts[None, :, 0], 0.0, halts[:, 1] - halts[:, 0])
    total: Floats = lengths.sum(axis=1)
    return total
