"""What compiling an eager step saves: every step after the first, once its first call is paid for."""

from __future__ import annotations

import pytest

from unslow.analyse.graphs.eager_cost import EagerCost, eager_cost
from unslow.analyse.sketches.sketch import Sketch, at
from unslow.facts.eager import EagerOps

OPS, FLOOR = 1000, 8e-6
COST = EagerCost(
    ops=OPS,
    step=0.03,
    eager=0.03,
    kernels=0.0,
    compiled=0.01,
    floor=FLOOR,
    first_call=0.4,
    steps=100,
    tape=(),
    lines=(),
    top=(),
    random="",
)


def sketch(**ticks: list[float]) -> Sketch:
    window = EagerOps(step=4, ops=OPS, took=0.02, floor=FLOOR, kernels=0.0, wall=0.03)
    return Sketch("", seconds=[0.03] * 100, facts=[at(4, window)], ticks=ticks)


def first_call(sketch: Sketch) -> float:
    run = sketch.run()
    cost = eager_cost(run, run.loops[0])
    assert cost is not None
    return cost.first_call


def test_the_first_call_takes_the_place_of_one_eager_step() -> None:
    assert COST.saved == pytest.approx(100 * 0.02 - (0.4 - 0.03))


def test_what_a_few_steps_save_is_less_than_the_first_call_takes() -> None:
    assert EagerCost(**{**vars(COST), "steps": 5}).saved == 0.0


def test_tracing_takes_a_third_of_a_millisecond_an_op_or_more() -> None:
    assert 0.3 < first_call(sketch()) < 0.5


def test_tracing_takes_longer_where_others_have_the_processor() -> None:
    busy = sketch(waited=[0.0, 0.5, 1.0], ran=[0.0, 0.5, 1.0])
    assert first_call(busy) == pytest.approx(2 * first_call(sketch()))
