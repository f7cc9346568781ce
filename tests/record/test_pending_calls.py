"""Calls on the main thread, in processes of their own: they are scheduled from C code."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

from unslow.record.engine.pending_calls import pending_call

_TIMEOUT = 60  # seconds; it takes one
_PROGRAM = """
import sys
from unslow.record.engine.pending_calls import pending_call

said = []


def run():
    second.schedule()
    said.append(sys._getframe(2).f_code.co_name)


def stop():
    raise KeyboardInterrupt


def program(call):
    call.schedule()
    for _ in range(3):
        pass
    said.append("went on")


first, second = pending_call(run), pending_call(lambda: said.append("second"))
stopping = pending_call(stop)
"""


def _printed(program: str) -> str:
    words = [sys.executable, "-c", _PROGRAM + dedent(program)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=_TIMEOUT, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("tracer", ["setprofile", "settrace"])
def test_a_traced_program_goes_on_while_another_call_waits(tracer: str) -> None:
    # Python 3.11 hung.
    program = f"sys.{tracer}(lambda *_: None); program(first); sys.{tracer}(None); print(*said)"
    assert _printed(program) == "program second went on"


def test_a_call_that_is_interrupted_stops_the_program_and_runs_again() -> None:
    program = """
        traced = []
        sys.setprofile(lambda frame, event, _: traced.append(frame.f_code.co_name))
        for _ in range(2):
            try:
                program(stopping)
            except KeyboardInterrupt:
                said.append("stopped")
        program(first)
        after = len(traced)
        program(first)
        assert "program" in traced[after:], "the program is still traced"
        sys.setprofile(None)
        print(*said[:5])
    """
    assert _printed(program) == "stopped stopped program second went on"


def test_nothing_runs_after_the_end() -> None:
    assert _printed("first.end(); program(first); print(*said)") == "went on"


def test_a_scheduled_call_is_made() -> None:
    made: list[int] = []
    call = pending_call(lambda: made.append(1))
    call.schedule()
    sum(range(10))
    call.end()
    assert made == [1]


def test_one_that_ended_does_nothing_and_serves_the_next_recording() -> None:
    made: list[int] = []
    call = pending_call(lambda: made.append(1))
    schedule = call.schedule
    call.end()
    call.end()
    schedule()
    sum(range(10))
    assert made == []
    first, second = pending_call(list), pending_call(list)
    assert first is call
    assert second is not call
    first.end()
    second.end()
