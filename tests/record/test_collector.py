"""Who asked for a collection: a line of the program, or Python by itself."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.record.standins import Clock
from unslow.record.engine.start import Recording
from unslow.record.probes.memory.collector import Collector, _Hidden, _is_asked_for
from unslow.record.probes.memory.containers import Memory


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


@pytest.fixture
def hidden() -> Iterator[list[str]]:
    """A callback that the program does not see; the phases that it was called for."""
    seen: list[str] = []
    others = gc.callbacks[:]
    gc.callbacks.clear()  # pytest or a library may have some
    callback = _Hidden(lambda phase, info: seen.append(phase))
    yield seen
    callback.end()
    gc.callbacks[:] = others


def test_a_hidden_callback_is_called_and_not_seen(hidden: list[str]) -> None:
    gc.collect()
    assert hidden[:2] == ["start", "stop"]
    assert type(gc.callbacks) is list and gc.callbacks == []


def test_callbacks_of_the_program_are_called_by_the_collector_itself(hidden: list[str]) -> None:
    callers: list[str] = []

    def own(phase: str, info: dict[str, int]) -> None:
        caller = sys._getframe().f_back
        callers.append(caller.f_code.co_name if caller else "")

    gc.callbacks.append(own)
    gc.collect()
    gc.callbacks.remove(own)
    gc.collect()
    name = test_callbacks_of_the_program_are_called_by_the_collector_itself.__name__
    assert callers == [name, name]


def test_a_callback_that_was_removed_is_freed_at_once(hidden: list[str]) -> None:
    class Callback:
        def __call__(self, phase: str, info: dict[str, int]) -> None:
            pass

    callback = Callback()
    gc.callbacks.append(callback)
    gc.collect()
    gc.callbacks.clear()
    alive = weakref.ref(callback)
    del callback
    assert alive() is None


def test_at_the_end_the_list_of_the_program_is_the_collectors() -> None:
    real = gc.callbacks
    others = real[:]
    real.clear()
    called: list[str] = []
    callback = _Hidden(lambda phase, info: None)
    gc.callbacks.append(lambda phase, info: called.append(phase))
    callback.end()
    try:
        assert gc.callbacks is real and len(real) == 1
        gc.collect()
        assert called == ["start", "stop"]
    finally:
        real[:] = others


def test_a_collection_within_an_inspection_is_not_counted_as_ours(
    recording: Recording, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder, lane = recording.recorder, recording.recorder.local.lane
    parts = recorder, recording.steps, recording.watcher
    collector, memory = Collector(*parts), Memory(*parts)

    def walk(*_: object) -> None:
        """Python collects the youngest objects meanwhile, which takes a second."""
        collector._collecting("start", {"generation": 0})
        clock.now += 1_000_000_000
        collector._collecting("stop", {"generation": 0})
        clock.now += 3_000_000

    monkeypatch.setattr(memory, "_walk", walk)
    memory._stepped(lane, 100)
    assert 3_000_000 <= recorder.inspection_times["memory"] < 10_000_000
    assert lane.own == recorder.inspection_times["memory"]


def test_a_collection_outside_inspections_is_not_timed(recording: Recording, clock: Clock) -> None:
    collector = Collector(recording.recorder, recording.steps, recording.watcher)
    collector._collecting("start", {"generation": 0})
    collector._collecting("stop", {"generation": 0})
    assert recording.recorder.collected == 0
