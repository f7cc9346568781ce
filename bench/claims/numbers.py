"""Numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Sequence

_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_BYTES = ((2**20, "MiB"), (2**10, "KiB"), (1, "B"))


def figures(value: float) -> str:
    """Three figures that count, without an exponent."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "∞"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 7)}f}"


def times(ratio: float) -> str:
    return f"{figures(ratio)}×"


def within(low: float, high: float) -> str:
    return f"{figures(low)} to {figures(high)}"


def amount(values: Sequence[float], unit: str) -> str:
    """One value, or the ends of several, with a unit that fits the largest."""
    if not values:
        return "nothing"
    low, high = min(values), max(values)
    size, name = _scale(max(abs(low), abs(high)), unit)
    ends = [figures(low / size)] if low == high else [figures(low / size), figures(high / size)]
    if unit == "count":
        ends = [f"{end / size:g}" for end in ([low] if low == high else [low, high])]
    return " to ".join(ends) + (f" {name}" if name else "")


def _scale(value: float, unit: str) -> tuple[float, str]:
    steps = {"s": _SECONDS, "bytes": _BYTES}.get(unit, ((1.0, ""),))
    return next(((size, name) for size, name in steps if value >= size), steps[-1])
