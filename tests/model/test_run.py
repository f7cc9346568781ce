"""Facts of a loop."""

from __future__ import annotations

from unslow.analyse.sketches.sketch import Sketch, at
from unslow.facts.memory import Gc


def test_only_what_was_recorded_while_a_loop_ran_is_its_own() -> None:
    run = Sketch("before and during", facts=[at(0, Gc(n=1)), at(50, Gc(n=2))]).run()
    assert [fact.n for fact in run.facts_during(run.loops[0], Gc)] == [2]
    assert [run.in_training(fact) for fact in run.facts(Gc)] == [False, True]


def test_another_process_has_its_own_facts() -> None:
    run = Sketch("a second process", facts=[at(50, Gc(process=1))]).run()
    assert not run.facts_during(run.loops[0], Gc)
    assert not run.in_training(run.facts(Gc)[0])
