"""Sees Python's garbage collector at work.

What the collector calls must not be Python: a signal that arrived during a collection would be
handled at its first instruction, and the exception of its handler printed and lost. So C code notes
the times, and they are read on the main thread before the next instruction of the program.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import operator
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, ModuleType
from typing import NamedTuple

from unslow.facts.memory import Gc
from unslow.facts.phase import Phase
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.lanes import add_span
from unslow.record.engine.pending_calls import PendingCall, pending_call
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import clock

_GC = int(Phase.GC)
_SHORT = 100_000  # nanoseconds: most collections of the youngest objects, several in an eager step
_LONG = 1_000_000  # shorter collections are only added up
_MOST_STAMPS = 4096  # kept while the main thread waits in C code and others collect (judgement)
_OTHERS = slice(2, None)  # in the collector's list, behind our callbacks

Action = Callable[[], object]  # of C code
Callback = Callable[[str, dict[str, int]], object]

# Calls its first argument; C functions ignore further ones.
_call = ctypes.PYFUNCTYPE(*[ctypes.py_object] * 4)(("PyObject_CallNoArgs", ctypes.pythonapi))


class Stamp(NamedTuple):
    """A beginning or an end of a collection."""

    time: int
    thread: int
    waiting: tuple[int, int, int]  # objects, by generation
    reported: dict[str, dict[str, int]]  # by the collector, at its last beginning and end


class Collector(Probe):
    name = "gc"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._stamps: deque[tuple[Foreign, ...]] = deque(maxlen=_MOST_STAMPS)
        self._pending: PendingCall | None = None
        self._shown: Callback | None = None
        self._hidden: Hidden | None = None

    def doors(self) -> Doors:
        return {"tensorflow": self._on_tensorflow}

    def _on_tensorflow(self, module: ModuleType) -> None:
        reported: dict[str, dict[str, int]] = {}
        values = map(_forever, (clock, threading.get_ident, gc.get_count, reported.copy))
        noted = map(self._stamps.append, zip(*values, strict=True))
        self._pending = pending_call(self._settle)
        note = in_turn(noted, _forever(self._pending.schedule))
        if gc.callbacks or self.recorder.late:  # somebody may hold the list: it must stay the one
            self._shown = callback(note)
            gc.callbacks += [reported.__setitem__, self._shown]
        else:
            self._hidden = Hidden(reported.__setitem__, note)

    def _settle(self) -> None:
        with self.fence:
            self.read(sys._getframe(1))

    def read(self, frame: FrameType | None) -> None:
        """Add up the collections that were noted; `frame`: what the main thread is in."""
        while len(self._stamps) > 1:
            began, ended = Stamp(*self._stamps.popleft()), Stamp(*self._stamps[0])
            # The first one may be the end of a collection whose beginning was not noted.
            if began.reported.get("start") is ended.reported.get("start"):
                self._stamps.popleft()
                self._collected(began, ended, frame)

    def _collected(self, began: Stamp, ended: Stamp, frame: FrameType | None) -> None:
        took = ended.time - began.time
        if self.recorder.inspecting == began.thread:
            self.recorder.collected += took
        if took < _SHORT:
            return
        for lane in self.recorder.lanes:
            if lane.thread == began.thread:
                add_span(lane, _GC, began.time, took)
        if took <= _LONG:
            return
        details = ended.reported.get("stop", {})
        generation = details.get("generation", 0)
        is_asked = generation == 2 and is_asked_for(began.waiting)
        stack = self.recorder.stack(frame) if is_asked else ()
        self.recorder.emit(
            Gc(
                key=f"{stack[0][0]}:{stack[0][1]}" if stack else str(generation),
                took=took,
                generation=generation,
                collected=details.get("collected"),
                asked=is_asked,
                stack=stack,
            )
        )

    def disarm(self) -> None:
        if self._hidden is not None:
            self._hidden.end()
        if self._shown in gc.callbacks:
            place = gc.callbacks.index(self._shown)
            del gc.callbacks[place - 1 : place + 1]
        if self._pending is not None:
            self._pending.end()


def _forever(action: Action) -> Iterator[Foreign]:
    """Calls an action whenever it is asked for the next value."""
    return iter(action, object())


def in_turn(*actions: Iterable[Foreign]) -> Action:
    """An action that takes the next value of each."""
    return zip(*actions, strict=True).__next__


def callback(action: Action) -> Callback:
    """A callback of the collector without any Python in it."""
    return functools.partial(_call, action)


class Hidden:
    """A callback of the collector that the program does not see in `gc.callbacks`.

    The collector goes through the list that it made when it started, whatever the name
    `gc.callbacks` stands for, and asks for its length after each call (Python 3.10 to 3.13). The
    program gets a list of its own under that name. What is in it is put behind our callbacks
    whenever a collection begins or ends, and taken away by the last callback.
    """

    def __init__(self, report: Callback, note: Action) -> None:
        self._real = gc.callbacks
        self._shown: list[Foreign] = []
        put = functools.partial(operator.setitem, self._real, _OTHERS, self._shown)
        take_away = functools.partial(operator.delitem, self._real, _OTHERS)
        close = functools.partial(self._real.append, callback(take_away))
        first = in_turn(_forever(note), _forever(put), _forever(close))
        self._real += [report, callback(first)]
        gc.callbacks = self._shown

    def end(self) -> None:
        """The program's list becomes the collector's again."""
        self._real[:] = self._shown
        if gc.callbacks is self._shown:
            gc.callbacks = self._real


def is_asked_for(waiting: tuple[int, int, int]) -> bool:
    """Whether somebody called `gc.collect()`: Python itself waits for its thresholds."""
    young, _, old = waiting
    for_young, _, for_old = gc.get_threshold()
    return not gc.isenabled() or young <= for_young or old <= for_old
