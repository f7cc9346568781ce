"""Which line makes the same model again."""

from __future__ import annotations

from dataclasses import replace

from unslow.analyse.sketches.sketch import Sketch, at
from unslow.causes.model_rebuilt import ModelRebuilt
from unslow.facts.memory import Model
from unslow.facts.schema import Place
from unslow.model import Location, Phase

FACTORY = (
    Place("nets.py", 5, "build"),
    Place("train.py", 8, "trial"),
    Place("train.py", 30, "main"),
)


def test_a_model_from_a_factory_is_told_where_the_function_that_trains_calls_it() -> None:
    models = [
        at(
            1 + 20 * turn,
            Model(
                model=turn, name="Net", step=1 + 20 * turn, weights="4:ab", n=turn, stack=FACTORY
            ),
        )
        for turn in range(10)
    ]
    phases = {Phase.TRACE: ([0.7] + [0.0] * 19) * 10}
    run = Sketch("", ([1.0] + [0.01] * 19) * 10, phases, models, style="keras").run()
    stack = (Location("train.py", 12, "trial"), Location("train.py", 30, "main"))
    run = replace(run, loops=tuple(replace(loop, stack=stack) for loop in run.loops))
    (finding,) = ModelRebuilt().detect(run)
    assert str(finding.location) == "train.py:8"
    assert ("made at", "nets.py:5") in [(each.label, each.value) for each in finding.evidence]
