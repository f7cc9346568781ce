"""The facts of a run by kind: decoded when first read, damaged lines skipped and counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from unslow.facts.codec import Context, Undecodable, decode
from unslow.facts.kinds import all_kinds
from unslow.facts.schema import Fact

F = TypeVar("F", bound=Fact)
Line = tuple[Mapping[str, object], Context]

_reading: ContextVar[set[type[Fact]] | None] = ContextVar("reading", default=None)


@contextmanager
def observed_reads() -> Iterator[set[type[Fact]]]:
    """Which kinds are read meanwhile: what a cause reads must be what it declares."""
    kinds: set[type[Fact]] = set()
    token = _reading.set(kinds)
    try:
        yield kinds
    finally:
        _reading.reset(token)


def _note_read(kind: type[Fact]) -> None:
    reading = _reading.get()
    if reading is not None:
        reading.add(kind)


class FactTable:
    """Facts of all processes of a run, in the order of time."""

    def __init__(self, lines: Iterable[Line] = (), facts: Iterable[Fact] = ()) -> None:
        self.damaged: Counter[str] = Counter()  # lines that do not fit the schema, by kind
        self.unknown: Counter[str] = Counter()  # lines of kinds that this version does not know
        self._lines: dict[str, list[Line]] = {}
        self._facts: dict[str, tuple[Fact, ...]] = {}
        self._by_process: dict[str, dict[int, list[Fact]]] = {}
        for line, context in lines:
            self._lines.setdefault(str(line.get("k")), []).append((line, context))
        for fact in facts:
            self._facts[fact.kind] = (*self._facts.get(fact.kind, ()), fact)

    def of(self, kind: type[F]) -> tuple[F, ...]:
        _note_read(kind)
        found = self._facts.get(kind.kind)
        if found is None:
            found = self._facts[kind.kind] = tuple(self._decoded(kind.kind))
        return found  # type: ignore[return-value]  # decoded by the class of this name

    def of_process(self, kind: type[F], process: int) -> list[F]:
        """The facts of one process."""
        _note_read(kind)
        by_process = self._by_process.get(kind.kind)
        if by_process is None:
            by_process = self._by_process[kind.kind] = defaultdict(list)
            for fact in self.of(kind):
                by_process[fact.process].append(fact)
        return by_process.get(process, [])  # type: ignore[return-value]  # as above

    def complete(self, kind: type[F], change: Callable[[F], F]) -> None:
        """Add to each fact of a kind what other files of the recording say about it."""
        self._facts[kind.kind] = tuple(map(change, self.of(kind)))

    def counts(self) -> Counter[str]:
        """How many facts of each kind there are; what the engine writes about itself is left
        out."""
        kinds = {name: facts for name, facts in self._facts.items() if facts}
        seen = {n: f for n, f in kinds.items() if type(f[0]).__module__ != "unslow.facts.process"}
        return Counter({name: len(facts) for name, facts in seen.items()})

    def decode_all(self) -> None:
        """Decode every kind that this version knows, and count what cannot be read."""
        for name in self._lines.keys() & all_kinds().keys():
            self._facts[name] = tuple(self._decoded(name))
        self.unknown.update({name: len(lines) for name, lines in self._lines.items()})

    def _decoded(self, kind: str) -> list[Fact]:
        facts = []
        for line, context in self._lines.pop(kind, ()):
            try:
                fact = decode(line, context)
            except Undecodable:
                self.damaged[kind] += 1
                continue
            if fact is not None:
                facts.append(fact)
        return sorted(facts, key=lambda fact: fact.time)
