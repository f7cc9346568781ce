"""How the models of iterators are read on versions of TensorFlow that show them in other ways."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from unslow.record.probes.data.pipelines import model_by_op

_OPS = "tensorflow.python.ops.gen_experimental_dataset_ops"
_PROTOS = "tensorflow.core.framework.model_pb2"


def _module(name: str, **members: object) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(members)
    return module


def test_tensorflow_2_17_is_asked_by_its_op(monkeypatch: pytest.MonkeyPatch) -> None:
    proto = SimpleNamespace(FromString=lambda data: ("model", data))
    answer = SimpleNamespace(numpy=lambda: b"bytes")
    asked = []
    ask = _module(_OPS, iterator_get_model_proto=lambda resource: asked.append(resource) or answer)
    monkeypatch.setitem(sys.modules, _OPS, ask)
    monkeypatch.setitem(sys.modules, _PROTOS, _module(_PROTOS, ModelProto=proto))
    model_of = model_by_op()
    assert model_of is not None
    assert model_of(SimpleNamespace(_iterator_resource="resource")) == ("model", b"bytes")
    assert asked == ["resource"]


def test_tensorflow_before_2_17_has_no_such_op(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, _OPS, _module(_OPS))
    assert model_by_op() is None
