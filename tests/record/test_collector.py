"""Who asked for a collection: a line of the program, or Python by itself."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from unslow.record.probes.memory.collector import _is_asked_for


@pytest.fixture
def full_collections() -> Iterator[list[bool]]:
    """Whether each full collection looked as if it had been asked for, in the order in which they came."""
    seen: list[bool] = []

    def collecting(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            seen.append(_is_asked_for())

    thresholds = gc.get_threshold()
    gc.collect()
    gc.callbacks.append(collecting)
    yield seen
    gc.callbacks.remove(collecting)
    gc.set_threshold(*thresholds)
    gc.enable()


def gather(until: Callable[[], bool]) -> None:
    """Keep new objects until something has happened, or there are very many."""
    kept: list[Any] = []
    while not until() and len(kept) < 3_000_000:
        kept.append([len(kept)])


def test_a_call_is_asked_for(full_collections: list[bool]) -> None:
    gc.collect()
    assert full_collections == [True]


def test_a_call_while_the_collector_is_off_is_asked_for(full_collections: list[bool]) -> None:
    gc.disable()
    gc.set_threshold(1, 1, 1)
    gather(lambda: gc.get_count()[0] > 2000)
    gc.collect()
    assert full_collections == [True]


def test_what_python_does_by_itself_is_not(full_collections: list[bool]) -> None:
    gc.set_threshold(50, 2, 2)
    gather(lambda: bool(full_collections))
    if not full_collections:
        pytest.skip("this Python never looks through everything at once by itself")
    assert full_collections == [False]
