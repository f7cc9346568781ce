"""What is left in a process that unslow has been in, and that it costs no long pause."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.attach.conftest import Start
from unslow.attach.session import attached
from unslow.attach.target import target_of

if sys.version_info < (3, 14):
    pytest.importorskip("hypno")
PYTHONS = os.environ.get("UNSLOW_ATTACH_PYTHONS", "").split() or [sys.executable]

# Answers each line on its stdin by what an expression gives. Nothing in it collects garbage.
ANSWERS = """
import gc, json, threading, types
def ours():
    return [each for each in gc.get_objects() if is_ours(each)]
def is_ours(each):
    if type(each) is types.FunctionType:
        return each.__globals__.get("__name__", "").split(".")[0] == "unslow"
    if type(each) is types.ModuleType:
        return each.__name__.split(".")[0] == "unslow"
    return (each if isinstance(each, type) else type(each)).__module__.split(".")[0] == "unslow"
for line in sys.stdin:
    print(json.dumps(eval(line)), flush=True)
"""
# The same, and so many objects can be made old that the next collection goes through all of them.
COLLECTS = (
    """
import gc
collections, kept = [], []
def make_due():
    gc.disable()
    gc.callbacks.append(lambda phase, info: collections.append(phase + str(info["generation"])))
    gc.collect()
    kept.extend([] for _ in range(200000))
    for _ in range(12):
        gc.collect(1)
    collections.clear()
    gc.enable()
"""
    + ANSWERS
)


def answer(process: subprocess.Popen[str], expression: str) -> object:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{expression}\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def until(process: subprocess.Popen[str], expression: str) -> None:
    """What is left to do after a recording has answered takes some milliseconds."""
    end = time.monotonic() + 10
    while not answer(process, expression) and time.monotonic() < end:
        time.sleep(0.02)


@pytest.mark.parametrize("python", PYTHONS)
def test_what_stays_does_not_grow_with_the_rounds(
    start: Start, tmp_path: Path, python: str
) -> None:
    process = start(ANSWERS, python)
    left = []
    for turn in range(4):
        with attached(target_of(process.pid), tmp_path / f"run-{turn}"):
            pass
        until(process, "threading.active_count() == 2")  # the program's own
        left.append(answer(process, "gc.collect() * 0 + len(ours())"))
    assert max(left[1:]) <= left[0] + 20  # type: ignore[operator,type-var]


def test_what_the_program_still_holds_goes_on_working(start: Start, tmp_path: Path) -> None:
    process = start(ANSWERS)
    with attached(target_of(process.pid), tmp_path / "run"):
        assert answer(process, "globals().update(held_on=sys.excepthook)") is None
        assert answer(process, "is_ours(held_on)") is True
    assert answer(process, "sys.excepthook is sys.__excepthook__") is True
    assert answer(process, "held_on(ValueError, ValueError('shown'), None)") is None
    assert process.communicate()[1] == "ValueError: shown\n"


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="collects old objects bit by bit")
def test_a_collection_of_all_objects_that_is_due_is_not_made_by_us(
    start: Start, tmp_path: Path
) -> None:
    process = start(COLLECTS)
    assert answer(process, "make_due()") is None
    with attached(target_of(process.pid), tmp_path / "run"):
        pass
    made = answer(process, "collections")
    assert "start0" in made  # type: ignore[operator]
    assert "start2" not in made  # type: ignore[operator]
