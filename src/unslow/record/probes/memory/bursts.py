"""Adds up what is made in one go, for the table of the first step."""

from __future__ import annotations

from unslow.facts.memory import Built
from unslow.record.engine.recorder import Recorder, clock
from unslow.record.engine.steps import Steps

_BURST = 50_000_000  # things made within this many nanoseconds of each other are written as one


class _Burst:
    """Things made in one go."""

    __slots__ = ("bytes", "count", "took", "tracing", "until", "what")

    def __init__(self, what: str, tracing: bool, until: int) -> None:
        self.what = what
        self.tracing = tracing
        self.until = until  # when the last one was made
        self.count = self.took = 0
        self.bytes = 0.0

    def takes(self, what: str, tracing: bool, now: int) -> bool:
        """Whether what is made now belongs to it."""
        return (self.what, self.tracing) == (what, tracing) and now - self.until <= _BURST


class Bursts:
    """The burst under way; another one begins where something else is made."""

    def __init__(self, recorder: Recorder, steps: Steps) -> None:
        self._recorder, self._steps = recorder, steps
        self._burst: _Burst | None = None

    def add(self, what: str, took: int, size: float) -> None:
        now, tracing = clock(), bool(self._recorder.local.lane.tracing)
        burst = self._burst
        if burst is None or not burst.takes(what, tracing, now):
            self.flush()
            burst = self._burst = _Burst(what, tracing, now)
        burst.count += 1
        burst.took += took
        burst.bytes += size
        burst.until = now

    def flush(self) -> None:
        burst, self._burst = self._burst, None
        if burst is not None and self._recorder.wants(Built, burst.what):
            fact = Built(
                key=burst.what,
                took=burst.took,
                what=burst.what,
                count=burst.count,
                bytes=burst.bytes,
                tracing=burst.tracing,
                ago=clock() - burst.until,
                step=self._steps.total,
            )
            self._recorder.emit(fact)
