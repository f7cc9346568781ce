"""Collections that lines of the program ask for."""

from __future__ import annotations

from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.diagnose import diagnose
from unslow.facts.functions import UnusualCall
from unslow.facts.memory import Gc
from unslow.facts.schema import Place
from unslow.model import Finding, Phase

CLEAR, COLLECT = Place("train.py", 14, "main"), Place("train.py", 15, "main")
SHARES = [0.8 if step % 5 == 4 else 0.0 for step in range(100)]
SECONDS = [0.1 if share else 0.01 for share in SHARES]


def collection(step: int, where: Place) -> Placed:
    number = (step + 1) // 5
    key = str(where.line)
    done = 0.04 * number
    return at(step, Gc(key=key, took=0.04, n=number, sum=done, asked=True, stack=(where,)))


def prepared(step: int) -> Placed:
    return at(
        step + 1,
        UnusualCall(
            key="step#1:reset",
            n=step // 5 + 1,
            name="step",
            function=1,
            why=("reset",),
            took=0.02,
            usual=0.01,
            place=CLEAR,
            way="clear_session",
        ),
    )


def found(*extra: Placed) -> list[Finding]:
    steps = range(4, 100, 5)
    facts = [collection(step, where) for step in steps for where in (CLEAR, COLLECT)]
    facts += extra
    run = Sketch("", SECONDS, {Phase.GC: SHARES}, facts, style="function").run()
    return [finding for finding in diagnose(run, with_fixes=False).findings if finding.fault]


def test_each_line_that_asks_for_collections_is_told_with_its_own_seconds() -> None:
    told = {finding.location.line: finding for finding in found() if finding.location}
    assert set(told) == {14, 15}
    assert all(finding.cause == "gc-pauses" for finding in told.values())
    assert all(0.7 < finding.seconds < 0.85 for finding in told.values())


def test_what_a_reset_collects_is_counted_with_what_it_makes_tensorflow_prepare() -> None:
    first, second = found(*(prepared(step) for step in range(4, 99, 5)))
    assert first.location is not None and second.location is not None
    assert (first.cause, first.location.line) == ("kernels-rebuilt", 14)
    assert (second.cause, second.location.line) == ("gc-pauses", 15)
    assert first.seconds > second.seconds
