"""Facts that the recorder thinned out: each one written stands for those since the last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from unslow.facts.schema import Thinned

T = TypeVar("T", bound=Thinned)


def weighted(facts: Iterable[T]) -> Iterator[tuple[T, int]]:
    """Each fact with the number of those that it stands for, itself included."""
    last: dict[tuple[int, str], int] = {}
    for fact in facts:
        key = (fact.process, fact.key)
        yield fact, max(1, fact.n - last.get(key, 0))
        last[key] = fact.n
