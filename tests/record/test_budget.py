"""What a step pays for being recorded, counted in bytecodes of ours: the same on every machine, whatever else it does.

The loops call stand-ins for TensorFlow's classes, which pass the real probes.
A limit is at most half as much again as was counted on Python 3.11, since other versions compile differently.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.record import standins
from tests.record.standins import Clock, compiled, eager, session
from unslow.record.engine.probe import WRAPPERS
from unslow.record.engine.start import Recording

WARM = 1500  # steps that are not counted: the first ones are looked at more closely
COUNTED = 2000  # with the looks at step 2 048
STEP = 300_000  # nanoseconds that a step takes by the clock of these tests
LOOKS = 200  # of the watcher: four seconds
PERIOD = 20_000_000


class Opcodes:
    """Counts the bytecodes that run in other code than the tests'; our wrappers here are disguised as it."""

    def __init__(self) -> None:
        self.count = 0

    def _called(self, frame: FrameType, event: str, argument: object) -> Any:
        if _is_of_this_test(frame.f_code):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._ran

    def _ran(self, frame: FrameType, event: str, argument: object) -> Any:
        self.count += event == "opcode"
        return self._ran

    def __enter__(self) -> Opcodes:
        self._before = sys.gettrace()
        sys._getframe().f_trace_opcodes = (
            True  # Python 3.12 counts none unless a frame has asked before settrace
        )
        sys.settrace(self._called)
        return self

    def __exit__(self, *problem: object) -> None:
        sys.settrace(self._before)


def _is_of_this_test(code: CodeType) -> bool:
    return code.co_filename in (__file__, standins.__file__) and code not in WRAPPERS


def per_step(step: Callable[[], object], clock: Clock) -> float:
    """Bytecodes of ours in one step, over many."""
    for _ in range(WARM):
        clock.now += STEP
        step()
    with Opcodes() as ours:
        for _ in range(COUNTED):
            clock.now += STEP
            step()
    return ours.count / COUNTED


@pytest.mark.parametrize(
    ("make", "limit"),
    [(compiled, 230), (session, 270), (eager, 1220)],
    ids=["compiled", "session", "eager"],
)
def test_a_step_pays_no_more_bytecodes_than_it_may(
    make: Callable[[Recording], Callable[[], object]],
    limit: float,
    recording: Recording,
    clock: Clock,
) -> None:
    step = make(recording)
    counted = per_step(step, clock)
    assert recording.steps.total == WARM + COUNTED, recording.recorder.probes
    assert 0 < counted <= limit


def test_a_look_of_the_watcher_pays_no_more_bytecodes_than_it_may(
    recording: Recording, clock: Clock
) -> None:
    step, parked, leave = compiled(recording), threading.Event(), threading.Event()

    def train() -> None:
        for _ in range(WARM):
            clock.now += STEP
            step()
        parked.set()
        leave.wait()

    training = threading.Thread(target=train)
    training.start()
    parked.wait()

    def look() -> None:
        clock.now += PERIOD
        recording.watcher._due += 1.0
        recording.watcher._wake()

    look()
    recording.recorder.keep_modules()  # finds those beside the first file: once, not in every look
    with Opcodes() as ours:
        for _ in range(LOOKS):
            look()
    leave.set()
    training.join()
    assert recording.watcher.samples == LOOKS + 1
    assert 0 < ours.count / LOOKS <= 1200
