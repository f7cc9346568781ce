"""Updates at several lines, made into the steps of loops."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np

from unslow.analyse.run.loops import loops_of
from unslow.analyse.run.recorded import Recorded
from unslow.facts.process import Site
from unslow.facts.schema import Place
from unslow.model import Loop
from unslow.runfolder.steplog import FIELDS

STEP = 10_000_000  # nanoseconds
MAIN = Place("main.py", 12, "main")  # in the loop of lines 10 to 14
CALL = Place("main.py", 13, "main")
TRAIN = Site(id=1, style="session", stack=(MAIN,), loop=(0, 10, 14), thread=1)
# A helper that is called from the loop, and updates in a loop of its own.
HELPER = Site(
    id=2,
    style="session",
    stack=(Place("masks.py", 27, "apply"), CALL),
    loop=(0, 26, 27),
    thread=1,
)


def loops(sites: list[Site], order: list[int]) -> list[Loop]:
    rows = np.zeros(len(order), dtype=FIELDS)
    rows["site"] = order
    rows["end"] = STEP * (1 + np.arange(len(order)))
    rows["total"] = STEP
    rows["count"] = rows["group"] = 1
    process = SimpleNamespace(
        index=0,
        rows=rows,
        of=lambda kind: sites if kind is Site else [],
        seconds=lambda clock: clock / 1e9,
    )
    return list(loops_of(cast(Recorded, process)))


def test_updates_in_the_loop_of_a_helper_belong_to_the_turn_that_calls_it() -> None:
    (loop,) = loops([TRAIN, HELPER], [1, 2, 2, 2, 2] * 20)
    assert str(loop.location) == "main.py:10"
    assert (loop.steps, loop.updates_per_step) == (20, 5.0)


def test_a_helper_that_trains_for_an_epoch_keeps_its_own_loop() -> None:
    found = loops([TRAIN, HELPER], [1, *[2] * 100] * 5)
    assert {(str(loop.location), loop.steps) for loop in found} == {
        ("main.py:10", 5),
        ("masks.py:26", 500),
    }


def test_a_helper_that_is_called_from_elsewhere_keeps_its_own_loop() -> None:
    elsewhere = HELPER.replace(stack=(HELPER.stack[0], Place("main.py", 30, "main")))
    found = loops([TRAIN, elsewhere], [1, 2, 2] * 20)
    assert sorted(loop.steps for loop in found) == [20, 40]
