"""Which loop of one run is which of another: by file, function and line, through edits."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import PurePath

from unslow.model import Loop, Run

Pair = tuple[Loop, Loop]


def matched_loops(before: Run, after: Run) -> list[Pair]:
    """Pairs of loops in the order of the first run; a loop without a counterpart is left out."""
    names = _file_names(before, after)
    lines = _Lines(before, after, names)
    remaining = list(after.loops)
    pairs: list[Pair] = []
    for loop in before.loops:
        other = _counterpart(loop, remaining, names, lines)
        if other is not None:
            pairs.append((loop, other))
            remaining.remove(other)
    return pairs


def _counterpart(
    loop: Loop, candidates: Iterable[Loop], names: Mapping[str, str], lines: _Lines
) -> Loop | None:
    """The loop at the line that this one's line has become, else the only one of its function."""
    file = names.get(loop.location.file)
    same_file = [each for each in candidates if each.location.file == file]
    line = lines.now(loop.location.file, loop.location.line)
    same_line = [each for each in same_file if each.location.line == line]
    if same_line:
        return min(same_line, key=lambda each: abs(each.process - loop.process))
    function = loop.location.function
    alike = [
        each for each in same_file if (each.location.function, each.style) == (function, loop.style)
    ]
    return alike[0] if len({each.location.line for each in alike}) == 1 else None


def _file_names(before: Run, after: Run) -> dict[str, str]:
    """Files of the first run by their names in the second: the same, or the script of each."""
    there = {loop.location.file for loop in after.loops}
    names = {}
    for file in {loop.location.file for loop in before.loops}:
        same_base = [each for each in there if PurePath(each).name == PurePath(file).name]
        if file in there:
            names[file] = file
        elif len(same_base) == 1:
            names[file] = same_base[0]
    scripts = _script(before), _script(after)
    if scripts[0] in before.sources and scripts[1] in there:
        names.setdefault(scripts[0], scripts[1])
    return names


def _script(run: Run) -> str:
    return next((word for word in run.command[1:] if word.endswith(".py")), "")


class _Lines:
    """Line numbers of the first run's sources in those of the second, by a diff of both."""

    def __init__(self, before: Run, after: Run, names: Mapping[str, str]) -> None:
        self._before, self._after, self._names = before.sources, after.sources, names
        self._maps: dict[str, dict[int, int]] = {}

    def now(self, file: str, line: int) -> int:
        """The line's number in the second run; 0 where it was deleted."""
        name = self._names.get(file, "")
        old, new = self._before.get(file), self._after.get(name)
        if old is None or new is None:  # recorded without sources
            return line
        if file not in self._maps:
            self._maps[file] = line_map(old, new)
        return self._maps[file].get(line, 0)


def line_map(old: str, new: str) -> dict[int, int]:
    """Numbers of unchanged lines, and of changed ones where as many lines replace them."""
    first, second = old.splitlines(), new.splitlines()
    found: dict[int, int] = {}
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    for kind, begin, end, other_begin, other_end in matcher.get_opcodes():
        if kind == "equal" or end - begin == other_end - other_begin:
            shift = other_begin - begin
            found.update({number + 1: number + 1 + shift for number in range(begin, end)})
    return found
