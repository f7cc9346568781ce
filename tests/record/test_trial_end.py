"""Which process of a trial writes the weights."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from unslow.record.engine.start import Recording


@pytest.mark.parametrize("trains", [True, False])
def test_what_only_starts_workers_leaves_their_weights_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trains: bool
) -> None:
    """It ends after them, and would write its own: none."""
    tensorflow = ModuleType("tensorflow")
    tensorflow.random = SimpleNamespace(set_seed=lambda seed: None)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)
    out = tmp_path / "weights"
    recording = Recording(str(tmp_path), json.dumps({"steps": 7, "out": str(out)}))
    if trains:
        recording.begin(tensorflow)
    recording.end()
    assert out.exists() == trains
