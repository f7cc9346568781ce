"""How often an index goes to another tensor: a loop over one, or over two in turn, takes it apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from unslow.facts.eager import Index
from unslow.record.engine.start import Recording
from unslow.record.probes.eager.tensors import Tensors


class Tensor:
    def __init__(self, number: int) -> None:
        self._id = number

    def __getitem__(self, key: object) -> object:
        return key


@pytest.fixture
def probe(tmp_path: Path) -> Iterator[Tensors]:
    recording = Recording(str(tmp_path))
    probe = next(each for each in recording.arming.probes if isinstance(each, Tensors))
    yield probe
    recording.end()


def tensors_indexed(probe: Tensors, monkeypatch: pytest.MonkeyPatch, order: Iterable[int]) -> int:
    """Of how many tensors the indices at one line were counted."""
    counted: list[bool] = []

    def tally(kind: type[Index], frame: object, took: int, another: bool) -> None:
        counted.append(another)

    recorder: Any = SimpleNamespace(
        local=probe.recorder.local,
        tally=tally,
        user=SimpleNamespace(owns=lambda code: True),
    )
    monkeypatch.setattr(probe, "recorder", recorder)
    index: Any = probe._index(Tensor.__getitem__)
    for number in order:
        index(Tensor(number), 0)
    return sum(counted)


def test_rows_of_one_tensor_are_counted_once(
    probe: Tensors, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tensors_indexed(probe, monkeypatch, [1] * 50) == 1


def test_rows_of_two_tensors_in_turn_are_those_of_two(
    probe: Tensors, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tensors_indexed(probe, monkeypatch, [1, 2] * 50) == 2


def test_one_value_of_each_of_many_is_not_taken_apart(
    probe: Tensors, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tensors_indexed(probe, monkeypatch, [1, 2, 3] * 20) == 60
