"""Reads the facts of one process line by line; of a kind with very many lines, only some.

Nothing is lost from totals: facts that recur carry running totals, and the last line of each key
is read. Standard library only.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import IO, NamedTuple

from unslow.facts.json_object import JsonObject
from unslow.facts.stored_text import StoredText
from unslow.runfolder.layout import is_clock

# Lines of one kind. The recorder writes fewer unless a program makes thousands of functions or
# models; a line takes about 60 µs and 3 KB to read and judge, and there are some ten such kinds.
MOST_OF_A_KIND = 1 << 13
# Lines of one kind in all processes together; each process has room for `_LEAST` of them.
_MOST_TOGETHER = 1 << 18
_LEAST = 256

_HEAD = b'{"k": "'  # how the recorder begins a line
_KEY = re.compile(rb'"(?:key|stack)": ("(?:[^"\\]|\\.)*"|\[\[.*?\]\])')
# Other lines refer to these by number: the first ones are read, more than any recorder writes.
_DEFINITIONS = frozenset(("stack", "site", "source", "process", "imported", "end", "probe"))
_MOST_DEFINITIONS = 1 << 16
# Texts that stay in the file, by the kind of their lines: 100,000 steps take 0.5 MB of each of a
# job's workers, and only the account of the job reads them.
_STORED = {"worker_steps": "data"}
_MOST_KEYS = 1 << 15  # whose last line is read; the recorder distinguishes 5,000


class Lines(NamedTuple):
    """What was read of a log."""

    facts: list[JsonObject]
    damaged: int  # lines that are no facts
    torn: bool  # the end is cut off
    left_out: Counter[str]  # lines that were not read, by kind


def share(processes: int) -> int:
    """Lines of one kind that are read of each process."""
    return max(_LEAST, min(MOST_OF_A_KIND, _MOST_TOGETHER // max(1, processes)))


def read_lines(file: IO[bytes], path: str, most: int, most_bytes: int) -> Lines:
    """The facts of a log: about `most` of a kind, and the last one of each key besides."""
    counts = Counter(_kind(raw) for _, raw in _whole(file, most_bytes))
    crowded = {kind for kind, count in counts.items() if kind and count > _room(kind, most)}
    kept = _kept(file, most_bytes, {kind: -(-counts[kind] // most) for kind in crowded})
    facts: list[JsonObject] = []
    left_out: Counter[str] = Counter()
    damaged = 0
    for number, (begin, raw) in enumerate(_whole(file, most_bytes)):
        if crowded and (kind := _kind(raw)) in crowded and number not in kept:
            left_out[kind] += 1
            continue
        fact = _parsed(raw)
        if fact is None:
            damaged += 1
            continue
        key = _STORED.get(fact["k"])
        if key is not None and isinstance(fact.get(key), str):
            fact[key] = StoredText(path, begin, len(raw), key)
        facts.append(fact)
    return Lines(facts, damaged, _is_torn(file), left_out)


def _room(kind: str, most: int) -> int:
    return _MOST_DEFINITIONS if kind in _DEFINITIONS else most


def _whole(file: IO[bytes], most_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Every line that has an end and something in it, and the byte at which it begins."""
    file.seek(0)
    read = 0
    for raw in file:
        read += len(raw)
        if read > most_bytes or not raw.endswith(b"\n"):
            return
        if len(raw) > 1:
            yield read - len(raw), raw


def _is_torn(file: IO[bytes]) -> bool:
    """Whether the last line has no end."""
    if not file.seek(0, os.SEEK_END):
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def _kept(file: IO[bytes], most_bytes: int, strides: Mapping[str, int]) -> Collection[int]:
    """Numbers of the lines to read of kinds with too many: every n-th, and the last of a key."""
    if not strides:
        return ()
    kept: set[int] = set()
    seen: Counter[str] = Counter()
    last: dict[tuple[str, bytes], int] = {}
    for number, (_, raw) in enumerate(_whole(file, most_bytes)):
        kind = _kind(raw)
        if kind not in strides:
            continue
        seen[kind] += 1
        if kind in _DEFINITIONS:
            if seen[kind] <= _MOST_DEFINITIONS:
                kept.add(number)
            continue
        if seen[kind] % strides[kind] == 1:
            kept.add(number)
        key = _KEY.search(raw)
        if key is not None and ((kind, key[1]) in last or len(last) < _MOST_KEYS):
            last[kind, key[1]] = number
    return kept.union(last.values())


def _kind(raw: bytes) -> str:
    """The kind of a line that the recorder wrote, without parsing it; else nothing."""
    if not raw.startswith(_HEAD):
        return ""
    return raw[len(_HEAD) : raw.find(b'"', len(_HEAD))].decode("utf-8", "replace")


def _parsed(raw: bytes) -> JsonObject | None:
    """A line of JSON with a kind and a time; None if it is not."""
    try:
        line = json.loads(raw)
        if isinstance(line["k"], str) and is_clock(line["t"]):
            return line  # type: ignore[no-any-return]  # a dict: it has keys
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    return None
