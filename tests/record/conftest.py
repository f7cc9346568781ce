"""A recording without TensorFlow: its clock is ours, and stand-ins for TensorFlow's classes pass the real probes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.record.standins import Clock
from unslow.record.engine.start import Recording


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """One clock for every module of the recorder: looks that wait for time then come at the same steps each time."""
    fake = Clock()
    for name, module in list(sys.modules.items()):
        if name.startswith("unslow.record.") and hasattr(module, "clock"):
            monkeypatch.setattr(module, "clock", fake)
    return fake


@pytest.fixture
def recording(tmp_path: Path, clock: Clock) -> Iterator[Recording]:
    made = Recording(str(tmp_path))
    yield made
    made.arming.uninstall()
    made._show()
    made.recorder.writer.close()
