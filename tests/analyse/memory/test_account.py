"""The account of a peak: its parts add up to it."""

from __future__ import annotations

import pytest

from unslow.analyse.memory.account import memory_account
from unslow.analyse.memory.parts import Part
from unslow.analyse.sketches.sketch import Sketch, at
from unslow.diagnose import diagnose
from unslow.facts.functions import Constants, Trace, UnusualCall
from unslow.facts.keras import Prediction
from unslow.facts.memory import (
    Built,
    Captured,
    Holding,
    Inventory,
    Live,
    MemoryHigh,
    Weights,
)
from unslow.facts.schema import Place
from unslow.model import Diagnosis, Phase, Run
from unslow.report.view import view_of

LINE = Place("train.py", 2, "<module>")
SOURCE = "x = load()\nmodel.fit(x)\n"


def run_of(*facts: object) -> Run:
    ticks = {"rss": [5e8, 9e8, 9.5e8], "heap_slack": [1e7, 2e7, 3e7]}
    return Sketch("a peak", facts=facts, ticks=ticks, source=SOURCE).run()  # type: ignore[arg-type]


def inventory(size: float, fed: str = "") -> Inventory:
    held = Holding(path="x", file="train.py", function="<module>", bytes=size, fed=fed, shape=(10,))
    return Inventory(held=(held,))


BAKED = Constants(name="step", place=LINE, count=1, bytes=5_000_000, largest=5_000_000)
HIGH = at(99, MemoryHigh(bytes=1e9, rss=1e9, stack=(LINE,)))


def test_there_is_no_account_without_an_inspection() -> None:
    assert memory_account(run_of()) is None


def test_the_parts_add_up_to_the_peak() -> None:
    account = memory_account(
        run_of(
            HIGH,
            at(50, inventory(2e8)),
            at(1, Built(what="variables", bytes=1e7)),
            at(1, Built(what="slots", bytes=2e7)),
            at(1, Weights(bytes=1e7, stack=(LINE,))),
            at(1, BAKED),
        )
    )
    assert account is not None
    sizes = {part.part: 0.0 for part in account.parts}
    for part in account.parts:
        sizes[part.part] += part.bytes
    assert sizes[Part.START] == 5e8
    assert sizes[Part.HELD] == 2e8
    assert sizes[Part.STATE] == pytest.approx(4e7)
    assert sizes[Part.CONSTANT] == 5e6
    assert sum(sizes.values()) == pytest.approx(account.peak) == pytest.approx(1e9)


def test_the_peak_and_what_is_held_have_their_lines() -> None:
    account = memory_account(run_of(HIGH, at(50, inventory(2e8))))
    assert account is not None
    held = next(part for part in account.parts if part.part is Part.HELD)
    assert (str(account.at), str(held.location)) == ("train.py:2", "train.py:1")


def test_the_largest_inventory_counts_and_knows_what_was_fed_later() -> None:
    run = run_of(HIGH, at(10, inventory(2e8)), at(20, inventory(1e8, fed="fit")))
    account = memory_account(run)
    assert account is not None
    assert [(held.bytes, held.fed) for held in account.held] == [(2e8, "fit")]


def test_what_is_freed_after_the_peak_was_temporary() -> None:
    high = at(40, MemoryHigh(bytes=1e9, rss=1e9, stack=(LINE,)))
    run = Sketch("", facts=[high], ticks={"rss": [5e8, 9e8, 7e8]}, source=SOURCE).run()
    account = memory_account(run)
    assert account is not None and account.at is not None
    (freed,) = [part for part in account.parts if part.part is Part.TEMPORARY]
    assert freed.bytes == pytest.approx(3e8) and freed.location == account.at
    grown = [part.bytes for part in account.parts if part.part is Part.GROWTH]
    assert grown == [pytest.approx(2e8)] and account.unowned == pytest.approx(5e8)


def test_what_compiled_steps_gain_is_theirs_and_what_another_call_gains_is_its_own() -> None:
    update, validate = (Place("train.py", line, "<module>") for line in (12, 20))
    facts = [
        at(1, Trace(name="step", function=1, updates=True)),
        at(1, called("step", 1, 16, update)),
        at(1, grown(6e8, update)),
        at(50, Trace(name="forward", function=2)),
        at(50, grown(9e8, validate)),
        at(51, called("forward", 2, 640, validate).replace(took=0.005)),
        at(90, grown(1e9, validate)),
    ]
    account = memory_account(Sketch("", facts=facts, ticks={"rss": [5e8, 6e8, 1e9]}).run())
    assert account is not None
    sizes = {part.name: part.bytes for part in account.parts if part.part is not Part.START}
    assert sizes == {
        "gained in a call of `forward` with 640 rows": pytest.approx(3e8),
        "gained in the first steps": pytest.approx(1e8),
        "gained in the later steps": pytest.approx(1e8),  # a later call needs no more for its rows
    }


def called(name: str, function: int, rows: int, place: Place) -> UnusualCall:
    return UnusualCall(name=name, function=function, why=("first",), shapes=((rows,),)).replace(
        stack=(place,)
    )


def grown(size: float, place: Place) -> MemoryHigh:
    return MemoryHigh(bytes=size, rss=size, stack=(place,), leaf="tensorflow", phase=Phase.RUN)


def test_tensors_and_functions_that_python_keeps_are_parts_of_the_peak() -> None:
    kept = Captured(place=LINE, functions=11, bytes=1e8)
    taken = Inventory(captured=(kept,))
    account = memory_account(run_of(HIGH, at(50, taken), at(60, Live(step=60, bytes=2e8))))
    assert account is not None
    sizes = {part.part: part.bytes for part in account.parts}
    assert sizes[Part.KEPT] == 1e8 and sizes[Part.TENSORS] == 2e8


def test_what_is_gained_while_a_model_first_runs_are_its_activations() -> None:
    lower, higher = (
        at(step, MemoryHigh(bytes=size, rss=size, stack=(LINE,)))
        for step, size in ((1, 6e8), (80, 1e9))
    )
    called = at(90, Prediction(call="predict", took=0.5, stack=(LINE,)))
    ticks = {"rss": [5e8, 6e8, 1e9]}
    account = memory_account(Sketch("", facts=[lower, higher, called], ticks=ticks).run())
    assert account is not None
    sizes = {part.name: part.bytes for part in account.parts if part.part is Part.TEMPORARY}
    assert sizes == {
        "gained in `predict`": pytest.approx(4e8),
        "gained in the first steps": pytest.approx(1e8),
    }
    assert not account.rest


def gained(rate: float) -> Diagnosis:
    """A short healthy loop whose process gains some bytes in every step, and nobody knows why."""
    ticks = {"rss": [5e8 + rate * step for step in range(100)]}
    high = at(99, MemoryHigh(bytes=5e8 + 99 * rate, rss=5e8 + 99 * rate, stack=(LINE,)))
    steps = Sketch("", phases={Phase.RUN: 1.0}, ticks=ticks, source=SOURCE, facts=[high], before=0)
    return diagnose(steps.run(), causes=[])


def test_growth_that_no_finding_names_is_not_healthy() -> None:
    leaking, steady = gained(7e6), gained(1e5)
    assert leaking.unnamed_growth > 3e8 and not leaking.healthy
    assert steady.unnamed_growth == 0.0 and steady.healthy
    found = view_of(leaking)["verdict"]
    assert found["kind"] == "unexplained" and "of memory that the process gained" in found["more"]


def _grown_in_tensorflow(phase: int) -> Run:
    high = MemoryHigh(bytes=1e9, rss=1e9, stack=(LINE,), leaf="tensorflow", phase=phase)
    return run_of(at(0, high), at(0, Inventory(stack=(LINE,))))


def test_what_is_gained_in_a_call_of_tensorflow_has_its_line() -> None:
    account = memory_account(_grown_in_tensorflow(int(Phase.OTHER)))
    assert account is not None
    (gained,) = (part for part in account.parts if part.name.startswith("gained"))
    assert (str(gained.location), gained.part) == ("train.py:2", Part.TEMPORARY)
    assert account.rest < 0.15 * account.peak


def test_what_is_gained_while_data_is_awaited_is_not_that_of_a_call() -> None:
    account = memory_account(_grown_in_tensorflow(int(Phase.INPUT)))
    assert account is not None
    assert not any(part.name.startswith("gained") for part in account.parts)
