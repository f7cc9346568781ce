"""A line that takes tensors apart counts with all that it costs, in whatever part of the run."""

from __future__ import annotations

import pytest

from unslow.analyse.host.indexed_tensors import IndexedLine
from unslow.analyse.sketches.sketch import Sketch
from unslow.analyse.stretches import AFTER
from unslow.causes import elementwise_loop
from unslow.causes.elementwise_loop import ElementwiseLoop
from unslow.model import Location

RUN = Sketch("", seconds=[0.01] * 1000, after=3.0).run()  # 13 s, of which 10 s train
HERE = Location("train.py", 11)


def found(monkeypatch: pytest.MonkeyPatch, in_steps: float, after: float) -> list[float]:
    steps = IndexedLine(HERE, count=9000, each=1e-4, seconds=in_steps, steps=1000)
    later = IndexedLine(HERE, count=4000, each=1e-4, seconds=after, stretch=AFTER)
    monkeypatch.setattr(elementwise_loop, "indexed_in_steps", lambda run: [steps])
    monkeypatch.setattr(elementwise_loop, "indexed_outside_steps", lambda run: [later])
    return [finding.seconds for finding in ElementwiseLoop().detect(RUN)]


def test_parts_that_are_small_alone_are_told_together(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, in_steps=0.4, after=0.5) == [0.4, 0.5]


def test_a_small_part_beside_a_large_one_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, in_steps=1.1, after=0.1) == [1.1, 0.1]


def test_parts_that_are_small_together_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, in_steps=0.3, after=0.2) == []
