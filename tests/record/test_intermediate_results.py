"""What an eager call is seen to hold: the model under way, and tensors without a name."""

from __future__ import annotations

import sys
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unslow.facts.memory import ModelCall, Unnamed
from unslow.record.engine.frames import UserCode
from unslow.record.probes.memory.intermediate_results import eager_model_call, unnamed_tensors

TFE = "tensorflow.python.pywrap_tfe"
OPS = "tensorflow.python.framework.ops"


def keras_function(text: str) -> Any:
    names: dict[str, Any] = {"__name__": "keras.src.layers.layer", "sys": sys}
    exec(compile(text, "/lib/python/site-packages/keras/src/layers/layer.py", "exec"), names)
    return names


LIBRARY = keras_function("""
class Layer:
    def __call__(self, *args, **kwargs):
        return self.call(*args)
class Inner(Layer):
    def call(self, x):
        return sys._getframe()
class Model(Layer):
    def predict(self, x):
        return self(x)
    def call(self, x):
        return Inner()(x)
""")
MODEL, INNER = LIBRARY["Model"], LIBRARY["Inner"]
ROWS = np.ones((640, 8), np.float32)


class OwnModel(MODEL):  # type: ignore[misc, valid-type]
    """Its own layers are called by the user's code."""

    def call(self, x: Any) -> Any:
        hidden = x * 2
        return INNER()(hidden)


@pytest.fixture(autouse=True)
def no_tape(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    module = SimpleNamespace(TFE_Py_TapeSetIsEmpty=lambda: True)
    monkeypatch.setitem(sys.modules, TFE, module)
    return module


def seen(frame: FrameType) -> ModelCall | None:
    call, caller = eager_model_call(frame, UserCode())
    assert (call is None) == (caller is None)
    return call


@pytest.mark.parametrize("kind", [MODEL, OwnModel])
def test_the_outermost_model_and_the_line_that_calls_it_are_found(kind: Any) -> None:
    frame = kind()(ROWS, training=False)
    call = seen(frame)
    assert call is not None
    assert (call.name, call.rows) == (kind.__name__, 640)
    name = "test_the_outermost_model_and_the_line_that_calls_it_are_found"
    assert call.stack[0].function == name


def test_a_view_has_its_own_rows() -> None:
    call = seen(MODEL()(ROWS[:32]))
    assert call is not None and call.rows == 32


def test_a_layer_a_trained_model_and_a_prediction_are_no_such_call() -> None:
    assert seen(INNER()(ROWS)) is None
    assert seen(MODEL()(ROWS, training=True)) is None
    assert seen(MODEL().predict(ROWS)) is None


def test_a_call_under_a_tape_keeps_what_the_gradient_needs(no_tape: SimpleNamespace) -> None:
    no_tape.TFE_Py_TapeSetIsEmpty = lambda: False
    assert seen(MODEL()(ROWS)) is None


class Tensor:
    dtype = SimpleNamespace(size=4, name="float32")

    def __init__(self, *shape: int) -> None:
        self._shape = shape

    def _shape_tuple(self) -> tuple[int, ...]:
        return self._shape


def test_young_tensors_without_a_name_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, OPS, SimpleNamespace(EagerTensor=Tensor))
    kept = [
        Tensor(1 << 11, 1 << 10),
        Tensor(1 << 12, 1 << 10),
        Tensor(10),
        Tensor(1 << 13, 1 << 10),
    ]
    found = unnamed_tensors(lambda tensor: tensor is kept[3])
    assert found == Unnamed(bytes=3 * 2.0**23, largest=2.0**24, shape=(1 << 12, 1 << 10))


def test_tensors_under_a_tape_are_not_counted(
    monkeypatch: pytest.MonkeyPatch, no_tape: SimpleNamespace
) -> None:
    monkeypatch.setitem(sys.modules, OPS, SimpleNamespace(EagerTensor=Tensor))
    kept = Tensor(1 << 12, 1 << 10)
    no_tape.TFE_Py_TapeSetIsEmpty = lambda: False
    assert unnamed_tensors(lambda tensor: False) is None
    assert kept
