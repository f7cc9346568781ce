"""Sees Python's garbage collector at work."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from types import ModuleType

from unslow.facts.memory import Gc
from unslow.facts.phase import Phase
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.probe import Probe
from unslow.record.engine.recorder import clock

_GC = int(Phase.GC)
_LONG = 1_000_000  # collections shorter than a millisecond are only added up


class Collector(Probe):
    name = "gc"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._open: list[Foreign] = []
        self._asked = False
        self._hidden: _Hidden | None = None
        self._since = 0  # when a collection within an inspection began

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        return {"tensorflow": self._on_tensorflow}

    def _on_tensorflow(self, module: ModuleType) -> None:
        if gc.callbacks or self.recorder.late:  # somebody may hold the list: it must stay the one
            gc.callbacks.append(self._collecting)
        else:
            self._hidden = _Hidden(self._collecting)

    def _collecting(self, phase: str, info: dict[str, int]) -> None:
        if self.recorder.inspecting and self.recorder.inspecting == threading.get_ident():
            self._within_inspection(phase)
        if not info["generation"]:  # of the youngest: short ones, and several in an eager step
            return
        lane = self.recorder.local.lane
        if phase == "start":
            self._asked = info["generation"] == 2 and _is_asked_for()
            entry = self.recorder.open_span(lane, _GC)
            self._open.append(entry)
        elif self._open:
            took = self.recorder.close_span(lane, self._open.pop())
            if took > _LONG:
                stack = self.recorder.stack(sys._getframe().f_back) if self._asked else ()
                key = f"{stack[0][0]}:{stack[0][1]}" if stack else str(info["generation"])
                self.recorder.emit(
                    Gc(
                        key=key,
                        took=took,
                        generation=info["generation"],
                        collected=info.get("collected"),
                        asked=self._asked,
                        stack=stack,
                    )
                )

    def _within_inspection(self, phase: str) -> None:
        if phase == "start":
            self._since = clock()
        else:
            self.recorder.collected += clock() - self._since

    def disarm(self) -> None:
        if self._hidden is not None:
            self._hidden.end()
        if self._collecting in gc.callbacks:
            gc.callbacks.remove(self._collecting)


class _Hidden:
    """A callback of the collector that the program does not see in `gc.callbacks`.

    The collector goes through the list that it made when it started, whatever the name
    `gc.callbacks` stands for, and asks for its length after each call (Python 3.10 to 3.13). The
    program gets a list of its own under that name. What is in it is put behind our callback
    whenever a collection begins or ends, and taken away by the last callback.
    """

    def __init__(self, callback: Callable[[str, dict[str, int]], None]) -> None:
        self._callback = callback
        self._real = gc.callbacks
        self._shown: list[Foreign] = []
        self._real.append(self._first)
        gc.callbacks = self._shown

    def _first(self, phase: str, info: dict[str, int]) -> None:
        if self._shown:
            self._real[1:] = [*self._shown, self._last]
        self._callback(phase, info)

    def _last(self, phase: str, info: dict[str, int]) -> None:
        del self._real[1:]

    def end(self) -> None:
        """The program's list becomes the collector's again."""
        self._real[:] = self._shown
        if gc.callbacks is self._shown:
            gc.callbacks = self._real


def _is_asked_for() -> bool:
    """Whether somebody called `gc.collect()`: Python itself waits for its thresholds."""
    young, _, old = gc.get_count()
    for_young, _, for_old = gc.get_threshold()
    return not gc.isenabled() or young <= for_young or old <= for_old
