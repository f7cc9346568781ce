"""Who asked for a collection: a line of the program, or Python by itself."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from unslow.facts.phase import Phase
from unslow.record.engine.start import Recording
from unslow.record.probes.memory.collector import Collector, Hidden, is_asked_for


@pytest.fixture
def full_collections() -> Iterator[list[bool]]:
    """Whether each full collection looked as if it had been asked for, in the order in which they came."""
    seen: list[bool] = []

    def collecting(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            seen.append(is_asked_for(gc.get_count()))

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
    """A callback that the program does not see; how often it was called."""
    seen: list[str] = []
    others = gc.callbacks[:]
    gc.callbacks.clear()  # pytest or a library may have some
    callback = Hidden({}.__setitem__, lambda: seen.append("called"))
    yield seen
    callback.end()
    gc.callbacks[:] = others


def test_a_hidden_callback_is_called_and_not_seen(hidden: list[str]) -> None:
    gc.collect()
    assert len(hidden) == 2
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
    callback = Hidden({}.__setitem__, lambda: None)
    gc.callbacks.append(lambda phase, info: called.append(phase))
    callback.end()
    try:
        assert gc.callbacks is real and len(real) == 1
        gc.collect()
        assert called == ["start", "stop"]
    finally:
        real[:] = others


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    """With the real clock, which is no Python."""
    made = Recording(str(tmp_path))
    yield made
    made.arming.uninstall()
    made.recorder.writer.close()


@pytest.fixture
def collector(recording: Recording) -> Iterator[Collector]:
    probe = Collector(recording.recorder, recording.steps, recording.watcher)
    others = gc.callbacks[:]
    gc.callbacks.clear()
    probe.doors()["tensorflow"](sys)
    yield probe
    probe.disarm()
    gc.callbacks[:] = others


@pytest.fixture
def some_garbage() -> list[Any]:
    """So many objects that going through them takes more than a millisecond."""
    return [[number] for number in range(300_000)]


def test_a_collection_is_a_span_of_the_thread_that_made_it(
    recording: Recording, collector: Collector, some_garbage: list[Any]
) -> None:
    lane = recording.recorder.local.lane
    before = lane.phases[Phase.GC]
    outer = recording.recorder.open_span(lane, Phase.RUN)
    gc.collect()
    took = lane.phases[Phase.GC] - before
    whole = recording.recorder.close_span(lane, outer)
    assert 0 < took < whole
    assert lane.phases[Phase.RUN] == whole - took


def test_a_long_collection_is_told_with_the_line_that_asked_for_it(
    recording: Recording, collector: Collector, some_garbage: list[Any]
) -> None:
    gc.collect()
    told = [line for line in recording.recorder.log.take() if '"k": "gc"' in line]
    assert '"generation": 2' in told[-1] and '"asked": true' in told[-1]
    assert "test_collector.py" in told[-1]


def test_a_collection_that_was_under_way_when_recording_began_is_left_out(
    recording: Recording, collector: Collector
) -> None:
    end, begin = {"stop": {"generation": 2}}, {"start": {"generation": 2}}
    here = threading.get_ident()
    long = 5_000_000
    collector._stamps += [
        (0, here, (0, 0, 0), end),
        (long, here, (0, 0, 0), {**end, **begin}),
        (3 * long, here, (0, 0, 0), {**end, **begin}),
    ]
    collector.read(None)
    assert recording.recorder.local.lane.phases[Phase.GC] == 2 * long


class Arrived(Exception):
    pass


@pytest.fixture
def alarm() -> Iterator[None]:
    def raise_it(*_: object) -> None:
        raise Arrived

    before = signal.signal(signal.SIGALRM, raise_it)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_what_a_signal_raises_during_a_collection_reaches_the_program(
    recording: Recording, collector: Collector, some_garbage: list[Any], alarm: None
) -> None:
    for _ in range(20):
        with pytest.raises(Arrived):
            signal.setitimer(signal.ITIMER_REAL, 0.0005)
            gc.collect()  # takes several milliseconds
            time.sleep(0.05)
