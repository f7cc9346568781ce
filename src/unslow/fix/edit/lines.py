"""Lines and offsets of a text, with columns in characters, and where lines go in an edit."""

from __future__ import annotations

import bisect
import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

# Not str.splitlines: it also splits at form feeds and Unicode separators, which Python does not.
_NEWLINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Splice:
    """Characters `start` to `end` are replaced by `text`; an empty range inserts."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Lines:
    """A text cut into lines, numbered from 1."""

    text: str

    @cached_property
    def starts(self) -> list[int]:
        return [0, *(match.end() for match in _NEWLINE.finditer(self.text))]

    @property
    def count(self) -> int:
        return len(self.starts)

    @cached_property
    def newline(self) -> str:
        """The line ending in use: the first one seen."""
        found = _NEWLINE.search(self.text)
        return found.group() if found else "\n"

    def start(self, line: int) -> int:
        return self.starts[line - 1]

    def stop(self, line: int) -> int:
        """Where the line ends, its line ending included."""
        return self.starts[line] if line < self.count else len(self.text)

    def end(self, line: int) -> int:
        """Where the line ends, its line ending left out."""
        return self.start(line) + len(self.content(line))

    def content(self, line: int) -> str:
        return self.text[self.start(line) : self.stop(line)].rstrip("\r\n")

    def indent(self, line: int) -> str:
        content = self.content(line)
        return content[: len(content) - len(content.lstrip(" \t\f"))]

    def at(self, offset: int) -> int:
        """The line that holds an offset."""
        return bisect.bisect_right(self.starts, offset)

    def offset(self, line: int, column: int) -> int:
        """The offset of a place as `ast` gives it: the column counts bytes of UTF-8."""
        start = self.start(line)
        content = self.text[start : self.stop(line)]
        if content.isascii():
            return start + column
        return start + len(
            content.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "surrogatepass")
        )


def spliced(text: str, splices: Sequence[Splice]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text after ordered, disjoint splices, and the span that each one fills there."""
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    read = length = 0
    for splice in splices:
        if splice.start < read or splice.end < splice.start:
            raise ValueError("splices overlap")
        kept = text[read : splice.start]
        pieces += (kept, splice.text)
        length += len(kept)
        spans.append((length, length + len(splice.text)))
        length += len(splice.text)
        read = splice.end
    return "".join((*pieces, text[read:])), tuple(spans)


def moved(
    before: Lines, after: Lines, splices: Sequence[Splice], spans: Sequence[tuple[int, int]]
) -> list[int]:
    """For each line before the splices, the line that it is afterwards, or 0 where it is gone."""
    places = [0] * (before.count + 1)
    touched: list[int] = []
    for splice in splices:
        if splice.start != splice.end or splice.start != before.start(before.at(splice.start)):
            touched += _span_lines(before, splice.start, splice.end)
        # What is put in between two lines touches neither: the one below only shifts.
    _follow_content(before, after, spans, touched, places)
    for splice, (start, end) in zip(splices, spans, strict=True):
        lines, inserted = (
            _span_lines(before, splice.start, splice.end),
            _span_lines(after, start, end),
        )
        if not places[lines[0]] and splice.start != before.start(lines[0]):
            places[lines[0]] = after.at(start)
        if end > start and len(inserted) == len(lines):
            places[lines[0] : lines[-1] + 1] = [
                places[old] or new for old, new in zip(lines, inserted, strict=True)
            ]
    _shift(before, after, splices, set(touched), places)
    return places


def _span_lines(lines: Lines, start: int, end: int) -> range:
    return range(lines.at(start), lines.at(max(start, end - 1)) + 1)


def _shift(
    before: Lines, after: Lines, splices: Sequence[Splice], touched: set[int], places: list[int]
) -> None:
    """Lines that no splice touches go down or up with what comes and goes above them."""
    edges = sorted(
        (splice.end, len(splice.text) - (splice.end - splice.start)) for splice in splices
    )
    shift = 0
    for line in range(1, before.count + 1):
        while edges and edges[0][0] <= before.start(line):
            shift += edges.pop(0)[1]
        if line not in touched:
            places[line] = after.at(before.start(line) + shift)


def _follow_content(
    before: Lines,
    after: Lines,
    spans: Sequence[tuple[int, int]],
    touched: Sequence[int],
    places: list[int],
) -> None:
    """Lines that were indented anew or carried elsewhere are known by their content."""
    free: dict[str, list[int]] = {}
    for start, end in spans:
        if end > start:
            for line in _span_lines(after, start, end):
                free.setdefault(after.content(line).strip(), []).append(line)
    for line in touched:
        content = before.content(line).strip()
        if content and not places[line] and free.get(content):
            places[line] = free[content].pop(0)


def matched(before: Lines, after: Lines) -> list[int]:
    """Like `moved` where only the two texts are known: by their longest common lines."""
    old = [before.content(line).strip() for line in range(1, before.count + 1)]
    new = [after.content(line).strip() for line in range(1, after.count + 1)]
    places = [0] * (before.count + 1)
    for _, low, high, start, stop in difflib.SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if high - low == stop - start:  # the same lines, or as many that were changed in place
            places[low + 1 : high + 1] = range(start + 1, stop + 1)
    left = set(range(1, after.count + 1)) - set(places)
    for line, content in enumerate(old, start=1):
        candidates = [place for place in left if new[place - 1] == content]
        if not places[line] and content and len(candidates) == 1 and old.count(content) == 1:
            places[line] = candidates[0]
    return places
