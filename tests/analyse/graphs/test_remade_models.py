"""Where a model is recreated: at the line that does so in most turns."""

from __future__ import annotations

from unslow.analyse.graphs.remade_models import Remade
from unslow.analyse.sketches.sketch import Sketch
from unslow.facts.memory import Model
from unslow.facts.schema import Place


def test_a_model_that_was_made_before_the_loop_does_not_give_the_line() -> None:
    factory = Place("nets.py", 14, "net")
    before = (factory, Place("run.py", 25, "main"))
    in_loop = (factory, Place("run.py", 29, "main"))
    made = [Model(stack=before), *(Model(stack=in_loop) for _ in range(3))]
    loop = Sketch("turns", [0.01] * 10).run().loops[0]
    assert Remade(loop, made, [3, 6, 9]).stack == in_loop
