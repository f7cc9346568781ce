"""Saved models that are loaded again, seen through a real recorder without TensorFlow."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from unslow.record.engine.start import Recording


def test_loads_of_a_path_that_was_loaded_before_are_added_up(tmp_path: Path) -> None:
    def load(export_dir: str, tags: object = None) -> str:
        return f"model of {export_dir}"

    module = ModuleType("tensorflow.python.saved_model.load")
    module.load = load  # type: ignore[attr-defined]
    recording = Recording(str(tmp_path))
    recording.arming.open(module.__name__, module)
    recording.arming.open("tensorflow", ModuleType("tensorflow"))
    try:
        answers = [module.load(path) for path in ("a", "a", "b", "a")]
        assert module.load(export_dir="b") == "model of b"
        recording.recorder.write_tallies(steps=0)
    finally:
        recording.end()
    text = next(tmp_path.glob("*.events")).read_text()
    assert answers == ["model of a", "model of a", "model of b", "model of a"]
    counts = [line for line in text.splitlines() if '"k": "loaded_again"' in line]
    assert sum('"count": 2' in line for line in counts) == 1 and len(counts) == 2
    assert module.load is load
