"""What is called when an object of the program dies must keep no exception from the program."""

from __future__ import annotations

import ctypes
import itertools
import signal
import sys
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace

import pytest

from unslow.record.engine.start import Recording
from unslow.record.engine.weak_table import WeakTable
from unslow.record.probes.data.pipelines import Pipeline
from unslow.record.probes.functions.registry import Registry
from unslow.record.probes.memory.made_lines import MadeLines


class Owner:
    def __init__(self) -> None:
        self._function_cache = object()


class Arrived(Exception):
    pass


@pytest.fixture
def raises_on_alarm() -> Iterator[None]:
    def raise_it(*_: object) -> None:
        raise Arrived

    before = signal.signal(signal.SIGALRM, raise_it)
    yield
    signal.signal(signal.SIGALRM, before)


def _in_a_table(owner: Owner, recording: Recording) -> object:
    table: WeakTable[int] = WeakTable()
    table.put(owner, 1)
    return table


def _by_its_line(owner: Owner, recording: Recording) -> object:
    trains = SimpleNamespace(total=1)  # before the first step nothing is watched
    lines = MadeLines(recording.recorder, trains)  # type: ignore[arg-type]
    assert lines.add("model", owner, 0, 0.0, sys._getframe()) is not None
    return lines


def _as_iterator(owner: Owner, recording: Recording) -> object:
    pipeline = Pipeline(recording.recorder, recording.steps, recording.watcher)
    pipeline._note_end(owner)
    return pipeline


def _as_function(owner: Owner, recording: Recording) -> object:
    registry = Registry("functions", recording.recorder, recording.steps, lambda: None)
    registry._own(owner)
    return registry


@pytest.mark.usefixtures("raises_on_alarm")
@pytest.mark.parametrize("known", [_in_a_table, _by_its_line, _as_iterator, _as_function])
def test_what_a_signal_raises_while_an_object_is_let_go_reaches_the_program(
    recording: Recording, known: Callable[[Owner, Recording], object]
) -> None:
    first, last = Owner(), Owner()
    kept = known(first, recording)
    # A list lets go of its last element first. C code sends the signal then, and the interpreter
    # handles it once it runs Python.
    send = map(ctypes.CDLL(None)["raise"], itertools.repeat(int(signal.SIGALRM)))
    reference = weakref.ref(last, partial(next, send))
    both = [first, last]
    del first, last
    with pytest.raises(Arrived):
        both.clear()
        assert reference() is None
    assert kept is not None
