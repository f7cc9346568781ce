"""Times, sizes, names and places in the words of a finding: three digits and the unit that fits."""

from __future__ import annotations

import io
import math
import tokenize
from collections.abc import Iterable, Sequence

from unslow.facts.schema import Place
from unslow.model import Location, Run

_MOST_NAMED = 3  # a judgement: a title with more is not read


def time(value: float) -> str:
    size = abs(value)
    if size < 0.9995e-3:
        return f"{_digits(value * 1e6)} µs"
    if size < 0.9995:
        return f"{_digits(value * 1e3)} ms"
    return f"{_digits(value)} s" if size < 600 else f"{_digits(value / 60)} min"


def size(value: float) -> str:
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= 0.9995 * factor:
            return f"{_digits(value / factor)} {unit}"
    return f"{value:.0f} B"


def share(value: float) -> str:
    return f"{100 * value:.0f}%"


def sides(shape: Iterable[int]) -> str:
    """`60,000 × 28 × 28`."""
    return " × ".join(f"{side:,}" for side in shape)


def estimate(value: float) -> int:
    """A count that is only estimated: three significant digits."""
    whole = round(value)
    return round(whole, 3 - len(str(abs(whole))))


def listed(names: Sequence[str]) -> str:
    """`a`; `a and b`; `a, b, c and 4 more`."""
    shown = list(names)
    if len(names) > _MOST_NAMED:
        shown = [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED} more"]
    *first, last = shown
    return f"{', '.join(first)} and {last}" if first else last


def _digits(value: float) -> str:
    """Three significant digits, never in scientific notation."""
    if value == 0 or not math.isfinite(value):
        return "0"
    return f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def place(run: Run, where: Place | Location) -> Location:
    """A place of a fact as a location with its code."""
    return Location(where.file, where.line, where.function, run.line(where.file, where.line))


def code(where: Location, most: int = 60) -> str:
    """The line itself in back-ticks, without its comment; its place where the text is not known."""
    text = _uncommented(where.code).strip()
    if not text:
        return str(where)
    return f"`{text}`" if len(text) <= most else f"`{text[: most - 1].rstrip()}…`"


def _uncommented(text: str) -> str:
    if "#" not in text:
        return text
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):  # a part of a statement over several lines
        return text.partition("  #")[0]
    comment = next((token.start[1] for token in tokens if token.type == tokenize.COMMENT), None)
    return text[:comment]
