"""Which of the user's arrays are copies of another one: the rows of a split, a shuffled order."""

from __future__ import annotations

from collections.abc import Sequence

from unslow.analyse.grouping import grouped
from unslow.analyse.memory.bindings import names_in
from unslow.facts.memory import Holding
from unslow.model import Run


def copies_by_origin(run: Run, arrays: Sequence[Holding]) -> dict[Holding, list[Holding]]:
    """Arrays with those that they were copied from, by the first of them."""
    return grouped(arrays, lambda held: _origin(run, held, arrays))


def _origin(run: Run, held: Holding, arrays: Sequence[Holding]) -> Holding:
    seen = [held]
    while True:
        others = (other for other in arrays if other not in seen)
        source = next((other for other in others if _is_copy(run, seen[-1], other)), None)
        if source is None:
            return seen[-1]
        seen.append(source)


def _is_copy(run: Run, held: Holding, other: Holding) -> bool:
    """Whether a name is bound to an expression of another one, and holds rows of the same kind."""
    if (held.file, held.function) != (other.file, other.function):
        return False
    if (held.dtype, held.shape[1:]) != (other.dtype, other.shape[1:]):
        return False
    names = names_in(run, held.file, held.function)
    return any(binding.reads(other.path) for binding in names.bindings.get(held.path, ()))
