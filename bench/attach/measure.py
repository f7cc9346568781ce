"""Attaches to a training again and again, and compares it with one that nobody attached to."""

from __future__ import annotations

import compileall
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from unslow.attach.inject import PACKAGE
from unslow.attach.session import Attached, attached
from unslow.attach.target import target_of

PROGRAM = Path(__file__).with_name("training.py")
STYLES = ("session", "eager", "compiled")
ROUNDS = 50
UNDISTURBED = 0.5  # seconds before each round, to compare with: about as long as attaching takes
ATTACHED = 0.1  # seconds of each round
PAIRS = 3  # of processes: two that do the same may differ by some per cent, as long as they live
BLOCKS = 80  # pairs of blocks in which two processes are compared, before and after
BLOCK_SECONDS = 0.05
NANO = 1e-9


class Training:
    """A training in another process that does what it is told."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid
        assert self._answer() == "ready"

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def ask(self, line: str) -> str:
        self.tell(line)
        return self._answer()

    def steps(self, number: int) -> float:
        """Processor seconds of a step."""
        return int(self.ask(str(number))) * NANO / number

    def resident(self) -> int:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def training(style: str) -> Iterator[Training]:
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), style],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield Training(process)
    finally:
        process.kill()
        process.communicate()


def compiled() -> None:
    """Compile our modules, as pip does when it installs them."""
    compileall.compile_dir(PACKAGE, quiet=1)


def rounds() -> dict[str, Any]:
    """Fifty rounds on one training: memory, steps, and how long it stood still, by its own clock."""
    compiled()
    held: list[dict[str, float]] = []
    memory: list[int] = []
    with (
        training("compiled") as sick,
        training("compiled") as bare,
        tempfile.TemporaryDirectory() as place,
    ):
        sick.steps(500)
        for number in range(ROUNDS):
            held.append(_round(sick, Path(place) / f"run-{number}"))
            memory.append(sick.resident())
        count, weights = sick.ask("").split()
        bare.steps(int(count) - 1)
        same = bare.ask("") == f"{count} {weights}"
    return {"rounds": held, "memory": memory, "steps": int(count), "same": same}


def _round(sick: Training, folder: Path) -> dict[str, float]:
    sick.tell("go")
    time.sleep(UNDISTURBED)
    began = time.monotonic_ns()
    with attached(target_of(sick.pid), folder) as session:
        armed = time.monotonic_ns()
        time.sleep(ATTACHED)
        leaving = time.monotonic_ns()
    left = time.monotonic_ns()
    ends, collections, stolen = json.loads(sick.ask("stop"))
    assert session.disarming is not None, session.problem
    return {
        **_windows(_steps(ends, [*collections, *stolen]), (began, armed), (leaving, left)),
        **_said(session),
        "collecting": sum(took for _, _, took in collections) * NANO,
        "stolen": sum(took for _, _, took in stolen) * NANO,
    }


class Step(NamedTuple):
    begin: int
    end: int
    took: int  # nanoseconds, without what others held it up for


def _steps(ends: Sequence[int], others: Sequence[tuple[int, int, int]]) -> list[Step]:
    found = []
    for begin, end in itertools.pairwise(ends):
        apart = [took for since, to, took in others if since < end and begin < to]
        found.append(Step(begin, end, max(0, end - begin - sum(apart))))
    return found


def _said(session: Attached) -> dict[str, float]:
    assert session.disarming is not None
    return {
        "said_attach": session.arming.seconds,
        "said_detach": session.disarming.seconds,
        "worked_attach": session.arming.worked,
        "worked_detach": session.disarming.worked,
    }


def _windows(
    steps: Sequence[Step], arming: tuple[int, int], leaving: tuple[int, int]
) -> dict[str, float]:
    undisturbed = [step.took for step in steps if step.end < arming[0]]
    usual = statistics.median(undisturbed)
    found = {"usual": usual * NANO, "usual_longest": max(undisturbed) * NANO}
    for name, (begin, end) in (("attach", arming), ("detach", leaving)):
        took = [step.took for step in steps if step.end > begin and step.begin < end]
        found[f"longest_{name}"] = max(took) * NANO
        found[f"lost_{name}"] = sum(one - usual for one in took) * NANO
    return found


def after(style: str) -> dict[str, Any]:
    """A step of trainings that were attached to and left, beside those that never were, in turns.

    The same with pairs of which neither was attached to, one after each: what noise makes of it.
    """
    found: dict[str, Any] = {"pairs": [], "controls": []}
    compiled()
    with one_processor():
        for _ in range(PAIRS):
            found["pairs"].append(_pair(style, attaches=True))
            found["controls"].append(_pair(style, attaches=False))
    return found


@contextmanager
def one_processor() -> Iterator[None]:
    """What is started inside shares one processor: others are as fast as their other users let
    them be, and a process stays where it is."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _pair(style: str, attaches: bool) -> dict[str, Any]:
    with training(style) as left, training(style) as bare, tempfile.TemporaryDirectory() as place:
        for warm in (left, bare):
            warm.steps(300)
        number = max(20, int(BLOCK_SECONDS / bare.steps(300)))
        before = _blocks(left, bare, number)
        for turn in range(3):
            began = time.monotonic()
            if attaches:
                _round(left, Path(place) / f"run-{turn}")
            else:
                _same_without(left, UNDISTURBED + ATTACHED)
            _same_without(bare, time.monotonic() - began)
        return {"before": before, "after": _blocks(left, bare, number)}


def _same_without(one: Training, seconds: float) -> None:
    """What a round makes a training do, without attaching to it: that, too, moves its memory."""
    one.tell("go")
    time.sleep(seconds)
    one.ask("stop")


def _blocks(left: Training, bare: Training, number: int) -> dict[str, list[float]]:
    """Seconds of a step in blocks that follow each other; who begins changes with every pair."""
    times: dict[str, list[float]] = {"left": [], "bare": []}
    both = [("left", left), ("bare", bare)]
    for _ in range(BLOCKS):
        for name, one in both:
            times[name].append(one.steps(number))
        both.reverse()
    return times
