"""Items by a key: all of them, or the largest of each; and those that are known."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """In the order in which the keys come first."""
    found: dict[K, list[T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def known(items: Iterable[T | None]) -> list[T]:
    """Without those that are None."""
    return [item for item in items if item is not None]


def largest_of_each(
    items: Iterable[T], key: Callable[[T], K], size: Callable[[T], float]
) -> dict[K, T]:
    """The largest item of each key, the first of those that are equal."""
    return {each: max(group, key=size) for each, group in grouped(items, key).items()}
