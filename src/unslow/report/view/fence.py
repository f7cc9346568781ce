"""A part of a report that fails is left out and named; the other parts are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


class Fence:
    """Makes parts one by one and remembers which could not be made."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def part(self, name: str, make: Callable[[], T], without: U) -> T | U:
        """The part, or `without` where making it failed."""
        try:
            return make()
        except Exception as problem:  # noqa: BLE001 - the fence of a part
            why = f"{type(problem).__name__}: {problem}"
            self.failed.append(f"{name} could not be shown, which is a bug in unslow: {why}")
            return without
