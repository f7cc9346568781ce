"""Facts on their way to the run folder: counted, thinned, and kept until they are written."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from unslow.facts.codec import encode
from unslow.facts.process import Unwritten
from unslow.facts.schema import Fact, Thinned
from unslow.record.engine.lanes import clock

# A kind of fact is written each time up to this many, then at counts that grow by one per cent: ten
# million facts make about 1 500 lines. Every line carries the running count: totals stay exact.
_FACTS_IN_FULL = 400
_MOST_KEYS = 5000  # a program may make up names without end


class _Count:
    """The facts of one key so far."""

    __slots__ = ("count", "next_written", "took")

    def __init__(self) -> None:
        self.count = 0
        self.took = 0
        self.next_written = 0

    def add(self, took: int) -> None:
        self.count += 1
        self.took += took

    def is_written(self) -> bool:
        """Whether the last one is written; if so, the next that is will be further on."""
        if self.count < self.next_written:
            return False
        count = self.count
        self.next_written = count + 1 if count < _FACTS_IN_FULL else int(count * 1.01) + 1
        return True


class FactLog:
    """Lines that wait to be written. Nothing here may raise into the user's program."""

    def __init__(self, lost: Callable[[str, str], None]) -> None:
        self._lost = lost  # called with the probe and the reason
        self.clear()

    def clear(self) -> None:
        self.pending: list[str] = []
        self._counts: dict[tuple[str, str], _Count] = {}

    def emit(self, fact: Fact, at: int | None = None) -> None:
        """Write a fact; one that is `Thinned` is counted, and written unless there were very many.

        `at` is its time, if that is not now.
        """
        try:
            if isinstance(fact, Thinned):
                counted = self._counted(fact.kind, fact.key, int(fact.took))
                if not counted.is_written():
                    return
                fact = fact.replace(n=counted.count, sum=counted.took)
            self.pending.append(encode(fact, clock() if at is None else at))
        except Exception as problem:  # noqa: BLE001 - called within the user's own calls
            self._unwritten(fact, f"{type(problem).__name__}: {problem}")

    def _unwritten(self, fact: Fact, why: str) -> None:
        with suppress(Exception):  # it may be that nothing can be written at all
            self.pending.append(encode(Unwritten(of=fact.kind, why=why), clock()))
        self._lost(fact.probe, f"{type(fact).__name__} could not be written: {why}")

    def wants(self, kind: type[Thinned], key: str = "") -> bool:
        """Whether the next fact of this key will be written: only then gather its details."""
        counted = self._counts.get((kind.kind, key))
        return counted is None or counted.count + 1 >= counted.next_written

    def count(self, kind: type[Thinned], key: str, took: int = 0) -> None:
        """Count a fact whose details are not needed; see `wants`."""
        self._counted(kind.kind, key, took)

    def _counted(self, kind: str, key: str, took: int) -> _Count:
        """The facts of a key, one more included."""
        counted = self._counts.get((kind, key))
        if counted is None:
            if len(self._counts) > _MOST_KEYS:
                key = ""
            counted = self._counts.setdefault((kind, key), _Count())
        counted.add(took)
        return counted

    def take(self) -> list[str]:
        """The lines that wait, which wait no longer."""
        # The list itself stays: another thread may be about to append to it.
        pending = self.pending[:]
        del self.pending[: len(pending)]
        return pending
