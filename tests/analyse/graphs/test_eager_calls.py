"""Which line is named for eager ops, and how much of their time is no compute."""

from __future__ import annotations

from dataclasses import replace

import pytest

from unslow.analyse.graphs.eager_calls import dispatching, eager_calls, region_of
from unslow.analyse.scopes import Scope
from unslow.analyse.sketches.sketch import Sketch, at
from unslow.facts.eager import EagerOps
from unslow.facts.schema import Place
from unslow.model import Location, Phase, Run, Sample

# A model (its layers at 3 and 6) that is called in a loop at 11, in a function of the main program.
_SOURCE = """class Block(Layer):
    def call(self, x):
        return tf.nn.relu(x)
class Net(Model):
    def call(self, x):
        for block in self.blocks: x = block(x)
        return x

def decode(model, x):
    for _ in range(20):
        x = model(x)
    return x

for step in data:
    train(step)
    answers = [decode(model, row) for row in rows]
"""
_LAYER = Location("train.py", 3, "call")
_MODEL = Location("train.py", 6, "call")
_CALL = Location("train.py", 11, "decode")
_ROWS = Location("train.py", 16, "<listcomp>")
_MAIN = Location("train.py", 16, "<module>")


def _sample(*stack: Location, count: int = 50) -> Sample:
    bins = ((1.0, 2.0, count),)
    return Sample(stack, "tensorflow", 0, True, count, 0, count, Phase.OTHER, bins)


def _window(ops: int = 500, kernels: float = 0.001, line: Location = _CALL) -> EagerOps:
    stack = (Place(line.file, line.line, line.function),)
    return EagerOps(
        ops=ops,
        took=4e-5 * ops,
        floor=2e-5,
        kernels=kernels,
        wall=1e-4 * ops,
        lines=((stack, ops, 4e-5 * ops),),
        outside=True,
    )


def _run(samples: list[Sample], *windows: EagerOps, style: str = "function") -> Run:
    facts = [at(50, window) for window in windows]
    phases = {Phase.RUN: 0.5}
    sketch = Sketch("", phases=phases, facts=facts, samples=samples, style=style, source=_SOURCE)
    return replace(sketch, line=14, update=15).run()


def test_the_call_of_a_model_is_named_and_not_its_layers() -> None:
    samples = [_sample(_LAYER, _MODEL, _CALL, _ROWS, _MAIN)]
    [found] = eager_calls(_run(samples, _window()))
    assert found.location == _CALL
    assert found.calls_model


def test_stacks_that_were_cut_off_get_the_callers_of_others() -> None:
    deep = [_LAYER] * 5
    samples = [
        _sample(*deep, _MODEL, count=60),
        _sample(*deep[:4], _MODEL, _CALL, count=30),
        _sample(_CALL, _ROWS, _MAIN, count=10),
    ]
    [found] = eager_calls(_run(samples, _window()))
    assert found.location == _CALL
    assert found.seconds == pytest.approx(1.0, rel=0.05)


def test_a_window_elsewhere_says_nothing_about_a_line() -> None:
    samples = [_sample(_CALL, _ROWS, _MAIN)]
    assert not list(eager_calls(_run(samples, _window(line=Location("train.py", 3, "call")))))


@pytest.mark.parametrize(("kernels", "seconds"), [(0.0, 1.0), (0.04, 0.2), (0.05, 0.0)])
def test_what_the_ops_compute_is_not_dispatch(kernels: float, seconds: float) -> None:
    run = _run([_sample(_CALL, _ROWS, _MAIN)], _window(kernels=kernels))
    found = dispatching(run, region_of(run.loops[0]), Scope(run, 0))
    assert found.location == _CALL
    assert found.seconds == pytest.approx(seconds, abs=0.01)


def test_ops_that_no_window_saw_are_not_called_compute() -> None:
    run = _run([_sample(_CALL, _ROWS, _MAIN)])
    assert dispatching(run, region_of(run.loops[0]), Scope(run, 0)).seconds == pytest.approx(1.0)


def test_what_keras_does_in_fit_and_what_runs_once_is_not_dispatch() -> None:
    fit = Location("train.py", 15, "<module>")
    run = _run([_sample(fit)], style="keras")
    assert not dispatching(run, region_of(run.loops[0]), Scope(run, 0)).seconds
    once = _sample(Location("train.py", 18, "<module>"), count=50)
    run = _run([once, _sample(_CALL, _ROWS, _MAIN, count=50)])
    found = dispatching(run, region_of(run.loops[0]), Scope(run, 0))
    assert found.seconds == pytest.approx(0.5)
