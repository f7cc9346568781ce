"""Numbers as a reader wants them: three digits, the unit that fits, and no control characters."""

from __future__ import annotations

import math
from typing import Any

PHASES = {
    "input": "waiting for data",
    "trace": "tracing functions",
    "build": "building ops or models",
    "run": "TensorFlow runs",
    "sync": "fetching values",
    "save": "checkpoints",
    "log": "summaries and logs",
    "eval": "validation, prediction",
    "hooks": "callbacks and hooks",
    "gc": "garbage collection",
    "other": "your own Python",
}

SAFETY = {
    "exact": "same results by construction",
    "close": "same results up to floating point",
    "review": "may change what the program means: read it first",
}


def plain(text: str) -> str:
    """Text that can go anywhere: bytes that were no UTF-8 and control characters become visible escapes."""
    if text.isprintable() or all(line.isprintable() for line in text.split("\n")):
        return text
    return "".join(_visible(char) for char in text)


def _visible(char: str) -> str:
    if char.isprintable() or char in "\n\t":
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # how Python carries a byte that was not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if char.isspace() and code > 0x20:  # wide and no-break spaces are harmless
        return " "
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


_BEGINNINGS = (
    "a",
    "an",
    "each",
    "others",
    "the",
)  # any other small word may be a name of the program's


def sentence(text: str) -> str:
    """A text as the beginning of a page: with a capital, unless it begins with a name."""
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first in _BEGINNINGS else text


def spans(text: str) -> list[tuple[bool, str]]:
    """Text cut at its back-ticks: (is it code, the part). A tick without a partner is text."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = ["`".join(parts[-2:])]
    return [(number % 2 == 1, part) for number, part in enumerate(parts) if part]


def digits(value: float, wanted: int = 3) -> str:
    """A number with some significant digits, never in scientific notation."""
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    places = max(0, wanted - 1 - math.floor(math.log10(abs(value))))
    rounded = round(value, places)
    # 9.996 rounds up into a digit more, which would then be one digit too long.
    if places and abs(rounded) >= 10 ** (wanted - places):
        places -= 1
    return f"{rounded:,.{places}f}"


def seconds(value: float) -> str:
    size = abs(value)
    if size == 0:
        return "0 s"
    if size < 0.9995e-3:
        return f"{digits(value * 1e6)} µs"
    if size < 0.9995:
        return f"{digits(value * 1e3)} ms"
    if size < 600:
        return f"{digits(value)} s"
    if size < 7200:
        return f"{digits(value / 60)} min"
    return f"{digits(value / 3600)} h"


def size(value: float) -> str:
    """Bytes in decimal units, as disks and `ls --si` count."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= 0.9995 * factor:
            return f"{digits(value / factor)} {unit}"
    return f"{value:.0f} B"


def share(value: float) -> str:
    percent = value * 100
    if percent and abs(percent) < 0.1:
        return "under 0.1 %"
    return f"{percent:,.0f} %" if abs(percent) >= 9.95 else f"{percent:.1f} %"


def count(value: float, noun: str = "") -> str:
    number = f"{value:,.0f}" if float(value).is_integer() else digits(value)
    if not noun:
        return number
    return f"{number} {noun}" if number == "1" else f"{number} {noun}s"


def ordinal(value: int) -> str:
    ending = "th" if 10 <= value % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value:,}{ending}"


def quantity(value: Any, unit: str) -> str:
    """An evidence's value in its unit; text stays as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{value} {unit}".strip()
    if unit == "s":
        return seconds(value)
    if unit in ("bytes", "B"):
        return size(value)
    if unit == "share":
        return share(value)
    if unit == "%":
        return share(value / 100)
    for suffix, form in (
        ("s per ", seconds),
        ("s/", seconds),
        ("bytes per ", size),
        ("bytes/", size),
    ):
        if unit.startswith(suffix):
            joint = "/" if suffix.endswith("/") else " per "
            return form(value) + joint + unit[len(suffix) :]
    return f"{count(value)} {unit}".strip()
