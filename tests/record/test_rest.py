"""Wrappers that would only see the same again are taken out for a while, and are back when something else comes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from tests.record.standins import module, opened
from unslow.record.engine.start import Recording
from unslow.record.probes.eager.batches import Batches
from unslow.record.probes.eager.eager import Eager
from unslow.record.probes.memory.weights import WeightsProbe

LONG = 200  # steps after which nothing new is expected


class Variable:
    name = "w"

    def assign(
        self, value: Any, use_locking: Any = None, name: Any = None, read_value: Any = True
    ) -> None:
        pass

    def assign_add(
        self, delta: Any, use_locking: Any = None, name: Any = None, read_value: Any = True
    ) -> None:
        pass

    def assign_sub(
        self, delta: Any, use_locking: Any = None, name: Any = None, read_value: Any = True
    ) -> None:
        pass


class Tape:
    def __enter__(self) -> Tape:
        return self

    def gradient(self, target: object, sources: object) -> None:
        pass

    def jacobian(self) -> None:
        pass


class Optimizer:
    def apply_gradients(self, pairs: Any) -> None:
        for _, weight in pairs:
            weight.assign(0.0)


class Layer:
    def __call__(self, batch: object) -> None:
        pass


@dataclass
class Training:
    recording: Recording

    def __post_init__(self) -> None:
        self.tape, self.optimizer, self.model = Tape(), Optimizer(), Layer()
        self.weights = [Variable() for _ in range(3)]

    def step(self, rows: int = 32) -> None:
        self.model(SimpleNamespace(shape=(rows, 8), __array__=None))
        self.tape.gradient(None, self.weights)
        self.optimizer.apply_gradients([(None, weight) for weight in self.weights])

    def by_hand(self, weight: Variable) -> None:
        self.tape.gradient(None, [weight])
        weight.assign_sub(0.1)

    @property
    def steps(self) -> int:
        return self.recording.steps.total


@pytest.fixture
def training(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> Training:
    name = "tensorflow.python.ops.resource_variable_ops"
    variables = module(
        name, BaseResourceVariable=Variable, ResourceVariable=type("Resource", (Variable,), {})
    )
    monkeypatch.setitem(sys.modules, name, variables)
    opened(
        recording,
        module(
            "tensorflow.python.eager.context",
            executing_eagerly=lambda: True,
            Context=type("Context", (), {}),
        ),
        module("tensorflow.python.eager.backprop", GradientTape=Tape),
        module("tensorflow.python.training.optimizer", Optimizer=Optimizer),
        module("keras.src.layers.layer", Layer=Layer),
    )
    probe(recording, Eager)._on_tensorflow(module("tensorflow"))
    return Training(recording)


def probe(recording: Recording, kind: type) -> Any:
    return next(each for each in recording.arming.probes if isinstance(each, kind))


def is_wrapped(owner: Any, name: str) -> bool:
    return hasattr(vars(owner)[name], "__wrapped__")


def test_updates_by_hand_after_those_of_an_optimizer_are_all_seen(training: Training) -> None:
    for _ in range(LONG):
        training.step()
    for _ in range(20):
        training.by_hand(training.weights[0])
    assert training.steps == LONG + 20


def test_an_update_whose_gradient_is_taken_in_the_same_expression_is_seen(
    training: Training,
) -> None:
    for _ in range(LONG):
        training.step()
    other = Variable()
    other.assign_sub(training.tape.gradient(None, other))
    assert training.steps == LONG + 1


def test_a_wrapper_that_rests_makes_no_other_place_of_a_line(training: Training) -> None:
    for number in range(10):
        if number == 5:
            probe(training.recording, WeightsProbe).rest("apply_gradients")
        training.step()
    assert training.recording.steps.led == 10


def test_a_trace_puts_everything_back(training: Training) -> None:
    for _ in range(LONG):
        training.step()
    training.recording.recorder.signals.trace_begins.send()
    assert is_wrapped(Layer, "__call__")


def test_layers_are_let_alone_while_all_batches_are_alike(training: Training) -> None:
    for _ in range(LONG):
        training.step()
    assert not is_wrapped(Layer, "__call__")
    assert training.recording.recorder.local.lane.usual == 32 * 8


def test_another_batch_is_seen_before_an_eighth_more_steps_are_done(training: Training) -> None:
    for _ in range(4096):
        training.step()
    for _ in range(4096 // 8):
        training.step(rows=64)
    seen = probe(training.recording, Batches)._seen.get(training.model)
    assert seen is not None and ((64, 8),) in seen


def test_at_the_end_nothing_of_ours_is_left(training: Training) -> None:
    for _ in range(LONG):
        training.step()
    training.recording.arming.uninstall()
    left = [
        (owner, name)
        for owner in (Variable, Tape, Optimizer, Layer)
        for name in vars(owner)
        if hasattr(vars(owner)[name], "__wrapped__")
    ]
    assert left == []


def test_owners_whose_memory_is_used_again_are_told_apart(training: Training) -> None:
    for _ in range(20):
        optimizer = Optimizer()
        optimizer.apply_gradients([(None, training.weights[0])])
        del optimizer
    assert training.recording.steps._sites._next == 20
