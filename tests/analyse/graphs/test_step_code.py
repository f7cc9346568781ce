"""The code that makes an eager step, and its share of the ops."""

from __future__ import annotations

from dataclasses import replace

from unslow.analyse.graphs.eager_cost import EagerCost, eager_cost
from unslow.analyse.graphs.step_code import step_code
from unslow.analyse.sketches.sketch import Sketch, at
from unslow.facts.eager import EagerOps
from unslow.facts.schema import Place
from unslow.model import Location, Loop, Run

SOURCE = """\
def step(x):
    with tape:
        loss = model(x)
    update(loss)


for x in data:
    log(x)
    step(x)
"""
UPDATE, TAPE = Place("train.py", 4, "step"), Place("train.py", 2, "step")
CALL, LOG = Place("train.py", 9, "<module>"), Place("train.py", 8, "<module>")


def measured(*tape: Place) -> tuple[Run, Loop, EagerCost]:
    """A step of 30 ops in `step`, next to 10 ops of a log."""
    lines = (((UPDATE, CALL), 30, 0.003), ((LOG,), 10, 0.001))
    ops = EagerOps(step=5, ops=40, took=0.004, floor=2e-5, wall=0.01, lines=lines, tape=tape)
    run = Sketch("", facts=[at(5, ops)], line=7, update=4, source=SOURCE).run()
    stack = (Location(*UPDATE), Location(*CALL))
    loop = replace(run.loops[0], location=Location("train.py", 7, "<module>"), stack=stack)
    cost = eager_cost(run, loop)
    assert cost is not None
    return run, loop, cost


def test_the_function_that_holds_the_tape_and_the_update_is_named_by_its_definition() -> None:
    run, loop, cost = measured(TAPE, CALL)
    code = step_code(run, loop, cost)
    assert (code.function, str(code.location)) == ("step", "train.py:1")
    assert code.share(cost) == 0.75


def test_a_tape_in_the_body_of_the_loop_makes_the_step_begin_there() -> None:
    run, loop, cost = measured(LOG)
    code = step_code(run, loop, cost)
    assert (code.function, str(code.location)) == ("", "train.py:8")
    assert code.share(cost) == 1.0


def test_ops_before_the_tape_are_no_part_of_the_step() -> None:
    run, loop, cost = measured(CALL)
    assert step_code(run, loop, cost).share(cost) == 0.75
