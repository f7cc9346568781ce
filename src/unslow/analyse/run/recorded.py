"""The processes of a run folder, decoded: damage is left out and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar, overload

import numpy as np

from unslow.facts.codec import Context
from unslow.facts.process import Imported, ProcessStart
from unslow.facts.schema import Fact
from unslow.facts.table import FactTable
from unslow.runfolder.folding import folded_to
from unslow.runfolder.layout import ProcessLog
from unslow.runfolder.steplog import Parsed, parse

F = TypeVar("F", bound=Fact)

_NANOSECONDS = 1e9
# Rows of all processes together, and of each one at least: 500 rows of 1,000 workers are 90 MB,
# and causes look at every one. A single process writes 210,000 rows in ten million steps.
_MOST_ROWS = 1 << 19
_LEAST_ROWS = 512
_HEADS = frozenset((ProcessStart.kind, Imported.kind))


@dataclass(frozen=True)
class Recorded:
    """One process: its facts and its rows."""

    log: ProcessLog
    context: Context
    table: FactTable  # of all processes
    parsed: Parsed

    @property
    def index(self) -> int:
        return self.context.process

    @property
    def rows(self) -> np.ndarray:
        return self.parsed.rows

    def of(self, kind: type[F]) -> list[F]:
        return self.table.of_process(kind, self.index)

    def first(self, kind: type[F]) -> F | None:
        return next(iter(self.of(kind)), None)

    @overload
    def seconds(self, clock: float) -> float: ...

    @overload
    def seconds(self, clock: np.ndarray) -> np.ndarray: ...

    def seconds(self, clock: float | np.ndarray) -> float | np.ndarray:
        """A moment of the process's clock, or an array of them, in seconds since the run began."""
        return (clock - self.context.start) / _NANOSECONDS


def began(log: ProcessLog) -> int | None:
    """When a process began, by its clock; None where its log has no header."""
    heads = [(line, Context(0, 0, str)) for line in log.lines if line["k"] in _HEADS]
    table = FactTable(heads)
    head = next(iter(table.of(ProcessStart)), None)
    if head is None:
        return None
    imported = next(iter(table.of(Imported)), None)
    return round((imported.since if imported is not None else head.time) * _NANOSECONDS)


def decoded(
    logs: Iterable[ProcessLog], starts: Sequence[int], shown: Callable[[str], str]
) -> tuple[FactTable, list[Recorded]]:
    """The facts and the processes of a run that began at `starts`, by the clock of each."""
    pairs = [
        (log, Context(index, start, shown))
        for index, (log, start) in enumerate(zip(logs, starts, strict=True))
    ]
    table = FactTable((line, context) for log, context in pairs for line in log.lines)
    most = max(_LEAST_ROWS, _MOST_ROWS // max(1, len(pairs)))
    return table, [
        Recorded(log, context, table, _bounded(parse(log.rows), most)) for log, context in pairs
    ]


def _bounded(parsed: Parsed, most: int) -> Parsed:
    """With fewer rows where there are very many processes, each row for more steps."""
    return parsed._replace(rows=folded_to(parsed.rows, most))
