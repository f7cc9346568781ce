"""Running totals of a line, cut to what happened while a loop ran."""

from __future__ import annotations

import pytest

from unslow.analyse.run.tallies import line_totals
from unslow.analyse.run.thinned import weighted
from unslow.analyse.sketches.sketch import Sketch, at
from unslow.facts.memory import Gc
from unslow.facts.schema import KINDS, Place, Tally


class Fetch(Tally, probe="test", kind="test_fetch"):
    """A tally of these tests."""

    way: str = ""


KINDS.pop("test_fetch")  # no kind of the product's
HERE, THERE = (Place("train.py", 12),), (Place("train.py", 13),)


def fetch(stack: tuple[Place, ...], count: int, took: float) -> Fetch:
    return Fetch(stack=stack, count=count, took=took, amount=8.0 * count, way="numpy")


def test_what_a_line_did_before_the_loop_is_subtracted() -> None:
    facts = [at(0, fetch(HERE, 10, 1.0)), at(5, fetch(HERE, 15, 2.0)), at(9, fetch(HERE, 30, 4.0))]
    run = Sketch("fetches", facts=facts).run()
    (total,) = line_totals(run, run.loops[0], Fetch)
    assert (total.count, total.seconds, total.amount) == (20, pytest.approx(3.0), 160.0)
    assert total.fact.way == "numpy"
    assert str(total.location) == "train.py:12"


def test_the_most_expensive_line_comes_first() -> None:
    facts = [at(5, fetch(HERE, 15, 2.0)), at(5, fetch(THERE, 3, 9.0))]
    run = Sketch("fetches", facts=facts).run()
    found = line_totals(run, run.loops[0], Fetch)
    assert [total.location.line for total in found] == [13, 12]


def test_a_line_that_did_nothing_in_the_loop_has_no_total() -> None:
    run = Sketch("before", facts=[at(0, fetch(HERE, 10, 1.0))]).run()
    assert line_totals(run, run.loops[0], Fetch) == []


def test_a_thinned_fact_stands_for_those_since_the_last_of_its_key() -> None:
    facts = [Gc(key="2", n=1), Gc(key="2", n=5), Gc(key="1", n=2), Gc(key="2", n=6)]
    assert [weight for _, weight in weighted(facts)] == [1, 4, 2, 1]
