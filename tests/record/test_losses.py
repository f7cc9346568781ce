"""The losses of a trial: where they are taken from, without TensorFlow."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.record.standins import Graph, module, opened
from unslow.record.engine.start import Recording

_CONCRETE = "tensorflow.python.eager.polymorphic_function.concrete_function"


class Tensor:
    """A tensor with a value, or one of a graph."""

    def __init__(self, value: Any = None, name: str = "", shape: tuple[int, ...] = ()) -> None:
        self.value, self.name, self.dtype, self.graph = value, name, "float32", None
        size = int(np.prod(shape))
        self.shape = SimpleNamespace(rank=len(shape), num_elements=lambda: size)
        self.op: Any = SimpleNamespace(type="Mean")
        self.fetched = 0
        if value is not None:
            self._numpy = self.__array__

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        self.fetched += 1
        return np.asarray(self.value, dtype=np.float32)

    def __float__(self) -> float:
        return float(self.__array__())


class Tape:
    def gradient(self, target: object, sources: object) -> None:
        pass


class Weight:
    def assign(self, value: object) -> None:
        pass


class Trial:
    """A recording of a trial that keeps losses, and what it wrote."""

    def __init__(self, folder: Path) -> None:
        self.out = folder / "weights"
        setting = {"steps": 10**6, "out": str(self.out), "losses": True}
        self.recording = Recording(str(folder), json.dumps(setting))

    def end_step(self, site: int = 0) -> None:
        steps, lane = self.recording.steps, self.recording.recorder.local.lane
        steps._sites.place_of = lambda site: site  # type: ignore[method-assign]
        steps._count(lane, site, 1, 0)

    def written(self) -> dict[str, list[float]]:
        assert self.recording.trial is not None
        self.recording.trial.finish()
        found: dict[str, list[float]] = json.loads((self.out / "losses.json").read_text())
        return found


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    made = Trial(tmp_path)
    context = module(
        "tensorflow.python.eager.context",
        executing_eagerly=lambda: True,
        Context=type("Context", (), {}),
    )
    opened(made.recording, context)
    yield made
    made.recording.arming.uninstall()
    made.recording._show()
    made.recording.recorder.writer.close()


@pytest.fixture
def tape(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> Tape:
    kind = type("GradientTape", (Tape,), {"jacobian": lambda self: None})
    opened(trial.recording, module("tensorflow.python.eager.backprop", GradientTape=kind))
    return kind()


def test_an_eager_loss_is_the_target_of_its_gradient_and_fetched_at_the_end(
    trial: Trial, tape: Tape
) -> None:
    losses = [Tensor(3.0), Tensor(2.0)]
    for loss in losses:
        tape.gradient(loss, [Weight()])
        trial.end_step()
    assert [loss.fetched for loss in losses] == [0, 0]
    assert trial.written() == {"loss#0": [3.0, 2.0]}


def test_a_gradient_for_inputs_has_no_loss(trial: Trial, tape: Tape) -> None:
    tape.gradient(Tensor(3.0), [Tensor(1.0)])
    trial.end_step()
    assert trial.written() == {}


def test_two_losses_of_a_step_are_told_apart(trial: Trial, tape: Tape) -> None:
    for step in range(3):
        for site, value in enumerate((1.0, 10.0)):
            tape.gradient(Tensor(value + step), [Weight()])
            trial.end_step(site)
    assert trial.written() == {"loss#0": [1.0, 2.0, 3.0], "loss#1": [10.0, 11.0, 12.0]}


def test_a_loss_per_example_counts_as_its_mean(trial: Trial, tape: Tape) -> None:
    tape.gradient(Tensor([1.0, 3.0], shape=(2,)), [Weight()])
    trial.end_step()
    assert trial.written() == {"loss#0": [2.0]}


def compiled(trial: Trial, outputs: Any, updates: bool = True) -> Callable[[Any], object]:
    """A graph with these outputs, traced and called with the values it returns."""

    class ConcreteFunction:
        def __init__(self) -> None:
            self.graph = Graph(outer_graph=None)
            self.structured_outputs = outputs

        def _call_flat(self, values: object, captured: object) -> object:
            return values

    opened(trial.recording, module(_CONCRETE, ConcreteFunction=ConcreteFunction))
    function = ConcreteFunction()
    if updates:
        trial.recording.steps.writes_weights(function.graph)

    def call(values: Any) -> object:
        return function._call_flat(values, [])

    call.graph = function.graph  # type: ignore[attr-defined]
    return call


def test_a_compiled_step_returns_the_loss_that_its_gradient_was_taken_of(
    trial: Trial, tape: Tape
) -> None:
    loss, other = Tensor(name="loss:0"), Tensor(name="norm:0")
    returned = Tensor(name="Identity:0")
    returned.op = SimpleNamespace(type="Identity", inputs=[loss])
    call = compiled(trial, {"norm": other, "total": returned, "picture": Tensor(shape=(8, 8))})
    loss.graph = call.graph  # type: ignore[attr-defined]
    tape.gradient(loss, [Weight()])
    for value in (5.0, 4.0):
        call({"norm": Tensor(1.0), "total": Tensor(value), "picture": Tensor(0.0)})
        trial.end_step()
    assert trial.written() == {"loss#0": [5.0, 4.0], "output norm#0": [1.0, 1.0]}


def test_a_loss_that_is_not_returned_keeps_its_place(trial: Trial, tape: Tape) -> None:
    """The second loss of an eager step is the second one of the compiled step too."""
    first, second = Tensor(name="a:0"), Tensor(name="b:0")
    call = compiled(trial, second)
    for each in (first, second):
        each.graph = call.graph  # type: ignore[attr-defined]
        tape.gradient(each, [Weight()])
    call(Tensor(7.0))
    trial.end_step()
    assert trial.written() == {"loss#1": [7.0]}


def test_what_does_not_update_weights_returns_no_loss(trial: Trial) -> None:
    call = compiled(trial, Tensor(name="x:0"), updates=False)
    call(Tensor(7.0))
    trial.end_step()
    assert trial.written() == {}


def test_a_metric_tells_what_each_step_added_and_may_be_reset(trial: Trial) -> None:
    class Mean:
        def __init__(self, name: str) -> None:
            self.name = name
            self.total, self.count = (SimpleNamespace(now=0.0) for _ in range(2))
            for held in (self.total, self.count):
                held.read_value = lambda held=held: Tensor(held.now)

        def update_state(self, value: float) -> None:
            self.total.now, self.count.now = self.total.now + value, self.count.now + 1

        def reset_state(self) -> None:
            self.total.now = self.count.now = 0.0

    opened(trial.recording, module("keras.src.metrics.reduction_metrics", Mean=Mean))
    for epoch in range(2):
        mean = Mean("train_loss" if not epoch else f"train_loss_{epoch}")
        for value in (5.0, 3.0):
            mean.update_state(value)
            trial.end_step()
        mean.reset_state()
        for value in (1.0, 2.0, 3.0):
            mean.update_state(value)
        trial.end_step()
        del mean
    assert trial.written() == {"metric train_loss#0": [5.0, 3.0, 2.0, 5.0, 3.0, 2.0]}


def test_a_number_that_a_session_fetches_has_the_name_and_the_place_of_its_tensor(
    trial: Trial,
) -> None:
    class BaseSession:
        def run(self, fetches: object, *_: object) -> object:
            return [None, np.float32(0.5), np.zeros(3, np.float32)]

    session = BaseSession()
    opened(trial.recording, module("tensorflow.python.client.session", BaseSession=BaseSession))
    session.run([SimpleNamespace(name="train"), SimpleNamespace(name="loss:0"), Tensor(name="y")])
    trial.end_step()
    assert trial.written() == {"fetch loss:0#0": [0.5], "fetch at 1#0": [0.5]}


def test_a_loss_that_cannot_be_read_does_not_reach_the_training(trial: Trial) -> None:
    call = compiled(trial, SimpleNamespace(dtype="float32", shape=None))
    value = Tensor(1.0)
    assert call(value) is value
    trial.end_step()
    assert trial.written() == {}
    assert trial.recording.recorder.probes["losses"].startswith("lost")


def test_a_loss_that_cannot_be_fetched_does_not_keep_the_trial_from_its_end(
    trial: Trial, tape: Tape
) -> None:
    loss = Tensor(1.0)
    loss.value = "no number"
    tape.gradient(loss, [Weight()])
    trial.end_step()
    assert trial.recording.trial is not None
    trial.recording.trial.finish()
    assert trial.recording.recorder.probes["losses"].startswith("lost")


def test_an_ordinary_trial_keeps_no_losses(tmp_path: Path) -> None:
    setting = json.dumps({"steps": 5, "out": str(tmp_path / "out")})
    recording = Recording(str(tmp_path), setting)
    names = [probe.name for probe in recording.arming.probes]
    recording._show()
    assert "losses" not in names
