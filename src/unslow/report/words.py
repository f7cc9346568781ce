"""Numbers and names as reports print them: three digits and a unit that fits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from unslow.report.rows import LocationRow

Row: TypeAlias = dict[str, Any]  # plain data of the view, as JSON carries it

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
    "called": "your calls to TensorFlow",
    "starting": "starting an iterator",
    "ending": "ending an iterator",
    "importing": "importing modules",
}

SAFETY = {
    "exact": "same results by construction",
    "close": "same results up to floating point",
    "review": "may change what the program does; read it first",
}


_UNITS = "µs|ms|s|min|h|B|kB|MB|GB|TB|steps?"
_SPLIT_FROM_UNIT = re.compile(rf"(?<=\d) (?=(?:{_UNITS})\b)")


def unbroken(text: str, space: str) -> str:
    """Text with another space between a number and its unit, so that no line ends between them."""
    return _SPLIT_FROM_UNIT.sub(space, text)


def plain(text: str) -> str:
    """Text that can go anywhere: undecodable bytes and control characters become escapes."""
    if text.isprintable() or all(line.isprintable() for line in text.split("\n")):
        return text
    return "".join(map(_visible, text))


def _visible(char: str) -> str:
    if char.isprintable() or char in "\n\t":
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # how Python carries a byte that was not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if char.isspace() and code > 0x20:  # wide and no-break spaces are harmless
        return " "
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


# Titles begin with these words or with a name of the program, which keeps its spelling.
_OPENING_WORDS = ("a", "an", "each", "others", "the")


def sentence(text: str) -> str:
    """A title with a capital letter, unless it begins with a name."""
    first = text.split(" ", 1)[0]
    return capitalized(text) if first in _OPENING_WORDS else text


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def ended(text: str) -> str:
    """A text with a full stop, unless it has an ending."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def led(before: str, text: str | None, after: str = "") -> str:
    """A text with what leads to it and what follows; nothing where there is none."""
    return f"{before}{text}{after}" if text else ""


def line(location: LocationRow | None) -> str:
    """`file:line` of a location; nothing where there is none."""
    return f"{location['file']}:{location['line']}" if location else ""


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


_NANOSECOND = 1e-9
_NEARLY_ONE = 1.095  # times
# Each unit with the size from which on it is used: below, three digits would round up into it.
_TIME_UNITS = (
    (7200.0, 3600.0, "h"),
    (600.0, 60.0, "min"),
    (0.9995, 1.0, "s"),
    (0.9995e-3, 1e-3, "ms"),
)
_SIZE_UNITS = (
    (0.9995e12, 1e12, "TB"),
    (0.9995e9, 1e9, "GB"),
    (0.9995e6, 1e6, "MB"),
    (0.9995e3, 1e3, "kB"),
)


def seconds(value: float) -> str:
    """Nothing here is measured to less than a nanosecond: what is left below is rounding."""
    known = _in_unit(value, _TIME_UNITS)
    if known or abs(value) < _NANOSECOND:
        return known or "0 s"
    return f"{digits(value * 1e6)} µs"


def size(value: float) -> str:
    """Bytes in decimal units, as disks and `ls --si` count."""
    return _in_unit(value, _SIZE_UNITS) or f"{value:.0f} B"


def _in_unit(value: float, units: tuple[tuple[float, float, str], ...]) -> str:
    for least, unit, name in units:
        if abs(value) >= least:
            return f"{digits(value / unit)} {name}"
    return ""


def share(value: float) -> str:
    percent = value * 100
    if percent and abs(percent) < 0.1:
        return "under 0.1%"
    return f"{percent:,.0f}%" if abs(percent) >= 9.95 else f"{percent:.1f}%"


_MOST_TIMES = 100  # a larger gain cannot be read from a share: its rest is within the noise


def speed(ratio: float) -> str:
    """A speedup in words: `≈1.2× faster`, `≈1.2× slower`; the same direction in every report."""
    times, word = (ratio, "faster") if ratio >= 1 else (1 / ratio, "slower")
    if f"{times:.2f}" == "1.00":
        return "as fast"
    if times > _MOST_TIMES:
        return f"over {_MOST_TIMES}× {word}"
    return f"≈{_times(times)}× {word}"


def _times(value: float) -> str:
    """Two digits, and a third one where these would say 1 or 1.1: CI judges differences of 5%."""
    if value < _NEARLY_ONE:
        return f"{value:.2f}"
    return f"{value:.2g}" if value < 9.95 else f"{value:.0f}"


def interval(low: float, high: float) -> str:
    """The ends of a speedup's interval, each in the direction it points to."""
    if low >= 1:
        return f"{_interval_end(low)}–{_interval_end(high)}× faster"
    if high <= 1:
        return f"{_interval_end(1 / high)}–{_interval_end(1 / low)}× slower"
    return f"{_interval_end(1 / low)}× slower to {_interval_end(high)}× faster"


def _interval_end(value: float) -> str:
    """Three digits, so that a wide interval does not look more exact than it is."""
    decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:,.{decimals}f}"


def count(value: float, noun: str = "") -> str:
    number = f"{value:,.0f}" if float(value).is_integer() else digits(value)
    if not noun:
        return number
    return f"{number} {noun}" if number == "1" else f"{number} {noun}s"


def ordinal(value: int) -> str:
    ending = "th" if 10 <= value % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value:,}{ending}"


_FORMS: dict[str, Callable[[float], str]] = {
    "s": seconds,
    "bytes": size,
    "B": size,
    "share": share,
    "×": lambda value: f"{count(value)}×",
}
_RATE = re.compile(r"(s|bytes)( per |/)(.*)")


def quantity(value: object, unit: str) -> str:
    """An evidence's value in its unit; text stays as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{value} {unit}".strip()
    if unit == "%":
        return share(value / 100)
    if unit in _FORMS:
        return _FORMS[unit](value)
    rate = _RATE.fullmatch(unit)
    if rate:
        return f"{_FORMS[rate[1]](value)}{rate[2]}{rate[3]}"
    return f"{count(value)} {unit}".strip()
