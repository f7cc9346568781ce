"""Running totals of what happens at each line of the user's code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType, FrameType

from unslow.facts.schema import Stack, Tally
from unslow.record.engine.foreign import Foreign

_MOST_LINES = 2000

Key = tuple[type[Tally], int, int]  # kind, id of the code, instruction


class _LineTotal:
    """What happened at one line so far."""

    __slots__ = ("amount", "count", "data", "kind", "stack", "took", "written")

    def __init__(self, kind: type[Tally], stack: Stack, data: dict[str, Foreign]) -> None:
        self.kind = kind
        self.stack = stack
        self.data = data
        self.count = 0
        self.took = 0
        self.amount = 0.0
        self.written = 0  # count when it was last written


class LineTallies:
    """Totals by kind and line."""

    def __init__(self, stack_of: Callable[[FrameType], Stack]) -> None:
        self._stack_of = stack_of
        self._kept: list[CodeType] = []  # of lines with totals: an id must not be used again
        self.clear()

    def clear(self) -> None:
        self._totals: dict[Key, _LineTotal] = {}

    def add(
        self,
        kind: type[Tally],
        frame: FrameType | None,
        took: int,
        amount: float = 0.0,
        /,
        **data: object,
    ) -> None:
        """Add up something that happens at a line, however often; written at growing intervals.

        `data` holds the kind's own fields; those of the first call at a line are kept.
        """
        if frame is None:
            return
        key = (kind, id(frame.f_code), frame.f_lasti)
        total = self._totals.get(key)
        if total is None:
            if len(self._totals) > _MOST_LINES:
                return
            self._kept.append(frame.f_code)
            total = self._totals[key] = _LineTotal(kind, self._stack_of(frame), data)
        total.count += 1
        total.took += took
        total.amount += amount

    def has(self, kind: type[Tally], frame: FrameType) -> bool:
        """Whether something of this kind was added up at this line before."""
        return (kind, id(frame.f_code), frame.f_lasti) in self._totals

    def adder(self, kind: type[Tally], frame: FrameType) -> Callable[[int, int, int], None]:
        """Adds many at once at a line: how many, their nanoseconds, and those of the last one."""
        key = (kind, id(frame.f_code), frame.f_lasti)

        def add(count: int, took: int, _: int) -> None:
            total = self._totals.get(key)
            if total is not None:
                total.count += count
                total.took += took

        return add

    def changed(self, steps: int) -> Iterator[Tally]:
        """The totals that have changed since they were last written."""
        for total in list(self._totals.values()):
            if total.count == total.written:
                continue
            total.written = total.count
            yield total.kind(
                count=total.count,
                took=total.took,
                amount=total.amount,
                stack=total.stack,
                steps=steps,
                **total.data,
            )
