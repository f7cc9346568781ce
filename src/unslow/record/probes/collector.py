"""Sees Python's garbage collector at work."""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import ModuleType
from typing import Any

from unslow.phase import Phase
from unslow.record.probe import Probe
from unslow.record.recorder import clock

_GC = int(Phase.GC)
_LONG = 1_000_000  # collections shorter than a millisecond are only added up


class Collector(Probe):
    name = "gc"

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._open: list[Any] = []

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        return {"tensorflow": self._on_tensorflow}

    def _on_tensorflow(self, module: ModuleType) -> None:
        gc.callbacks.append(self._collecting)

    def _collecting(self, phase: str, info: dict[str, int]) -> None:
        lane = self.recorder.local.lane
        if phase == "start":
            entry = [_GC, clock(), 0]
            lane.stack.append(entry)
            self._open.append(entry)
        elif self._open:
            took = self.recorder.close_span(lane, self._open.pop())
            if took > _LONG:
                self.recorder.fact(
                    "gc", str(info.get("generation")), took, generation=info.get("generation"),
                    collected=info.get("collected"), tracked=sum(gc.get_count()),
                )  # fmt: skip

    def disarm(self) -> None:
        if self._collecting in gc.callbacks:
            gc.callbacks.remove(self._collecting)
