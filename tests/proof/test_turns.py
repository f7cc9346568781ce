"""Two processes that take turns: real ones, without TensorFlow."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unslow.analyse.sketches.sketch import Sketch
from unslow.model import Loop, Run
from unslow.proof import turns
from unslow.proof.trials import Side
from unslow.proof.turns import can_take_turns, run_in_turns, without_halts

# Notes every moment in which it runs, for as much processor time as it is told.
BUSY = """
import os, sys, time
seen = []
while time.process_time() < {seconds}:
    seen.append(time.perf_counter())
with open({file!r}, "w") as file:
    file.write(" ".join(map(str, seen)))
"""


def side(tmp_path: Path, name: str, seconds: float = 0.8) -> Side:
    code = BUSY.format(seconds=seconds, file=str(tmp_path / name))
    return Side([sys.executable, "-c", code], str(tmp_path))


def turns_of(path: Path) -> list[tuple[float, float]]:
    """The stretches in which a process ran, apart by more than half a turn."""
    seen = np.array(path.read_text().split(), dtype=float)
    breaks = np.flatnonzero(np.diff(seen) > turns.TURN / 2)
    starts, ends = np.append(0, breaks + 1), np.append(breaks, len(seen) - 1)
    return [(seen[start], seen[end]) for start, end in zip(starts, ends, strict=True)]


def test_two_processes_run_by_turns_and_never_at_once(tmp_path: Path) -> None:
    run_in_turns((side(tmp_path, "one"), side(tmp_path, "other")), steps=1)
    one, other = turns_of(tmp_path / "one"), turns_of(tmp_path / "other")
    assert len(one) > 1 and len(other) > 1
    shared = [
        min(first[1], second[1]) - max(first[0], second[0]) for first in one for second in other
    ]
    assert max(shared) < turns.TURN / 10


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """A process that lets two others take turns, and the numbers of these."""
    pids = tmp_path / "pids"
    code = f"import os, time; open({str(pids)!r}, 'a').write(f'{{os.getpid()}} '); time.sleep(60)"
    script = f"""
from unslow.proof.trials import Side
from unslow.proof.turns import run_in_turns
side = Side([{sys.executable!r}, "-c", {code!r}], {str(tmp_path)!r})
run_in_turns((side, side), steps=1)
"""
    parent = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    assert _wait_for(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    children = [int(pid) for pid in pids.read_text().split()]
    yield parent, children
    parent.kill()
    parent.wait()
    for pid in children:
        if _state(pid):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_both_processes_end_with_ours(
    both: tuple[subprocess.Popen[bytes], list[int]], number: int
) -> None:
    parent, children = both
    parent.send_signal(number)
    parent.wait(timeout=30)
    assert not any(map(_state, children))


def test_no_process_stays_halted_if_ours_is_killed(
    both: tuple[subprocess.Popen[bytes], list[int]],
) -> None:
    parent, children = both
    parent.kill()
    parent.wait()
    assert _wait_for(lambda: "T" not in map(_state, children))


def _wait_for(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return False


def _state(pid: int) -> str:
    """As `ps` shows it: T is halted; nothing if the process is gone."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
    return "" if state == "Z" else state


def loop_of(seconds: list[float]) -> Loop:
    return Sketch("steps", seconds=seconds).run().loops[0]


def run_with(peak: float) -> Run:
    run = Sketch("a run").run()
    process = replace(run.processes[0], own={"peak_rss_bytes": peak})
    return replace(run, processes=(process,))


def test_the_time_of_a_halt_is_taken_out_of_the_step_it_fell_into() -> None:
    loop = loop_of([1.0, 3.0, 1.0])
    halts = np.array([[loop.start + 1.5, loop.start + 3.5]])
    assert without_halts(loop, halts).tolist() == pytest.approx([1.0, 1.0, 1.0])


def test_a_halt_between_two_steps_is_shared_by_them() -> None:
    loop = loop_of([2.0, 2.0])
    halts = np.array([[loop.start + 1.5, loop.start + 2.5]])
    assert without_halts(loop, halts).tolist() == pytest.approx([1.5, 1.5])


def test_processes_that_need_most_of_the_memory_do_not_live_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "_ACCELERATORS", ())
    assert can_take_turns([run_with(peak=2e9), run_with(peak=2e9)])
    assert not can_take_turns([run_with(peak=6e9), run_with(peak=6e9)])
