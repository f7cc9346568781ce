"""Ways to damage bytes, lines of JSON, rows, and whole run folders."""

from __future__ import annotations

import json
import random
import shutil
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

from bench.chaos.kept import ROOT
from unslow.runfolder.layout import ROW

RECORDED = ROOT / "examples" / "recorded"
# What a terminal, a web page, a table of markdown or a shell would obey.
PAYLOAD = (
    "\x1b]0;owned\x07\x1b[31m\x9b31m<script>alert(1)</script>"
    "\"onload='x' |`$(id)`| [a](javascript:alert(1))\r\n# title\u202e\x00\x08"
)
STRANGE: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 10**30, -(2**63), 2**63 - 1, 1e308, -1e-308),
    *(float("nan"), float("inf"), "", "0" * 50, PAYLOAD, "../../../etc/passwd", "/dev/zero"),
    *([], [[1]], [None] * 50, {}, {"k": 1}, {"": {"": []}}, "\ud800", "x" * 10_000),
)
_BYTES = (b"\x00", b"\xff", b"9", b"-", b"[", b"}", b'"', b"\n", b"e", b"\x1b", b"")
_SMALLEST = 24  # recordings: their reports take a tenth of a second


@cache
def recordings() -> list[dict[str, bytes]]:
    """The smallest recordings of examples, each as its files."""
    chosen = sorted(RECORDED.glob("*.zip"), key=lambda path: path.stat().st_size)[:_SMALLEST]
    found = []
    for path in chosen:
        with zipfile.ZipFile(path) as archive:
            found.append({name: archive.read(name) for name in archive.namelist()})
    return found


@cache
def lines() -> list[dict[str, Any]]:
    """Every kind of line that was ever recorded, some of each."""
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for files in recordings():
        for name, data in files.items():
            if name.endswith(".events"):
                for raw in data.splitlines():
                    line = json.loads(raw)
                    by_kind.setdefault(line["k"], []).append(line)
    return [line for kind in by_kind.values() for line in kind[:40]]


def damaged_bytes(data: bytes, chance: random.Random) -> bytes:
    """Some bytes flipped, replaced, repeated, or cut off."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5, 30))):
        if not changed:
            break
        at = chance.randrange(len(changed))
        match chance.randrange(5):
            case 0:
                changed[at] ^= 1 << chance.randrange(8)
            case 1:
                changed[at : at + 1] = chance.choice(_BYTES)
            case 2:
                changed[at : at + chance.randrange(1, 9)] = chance.randbytes(8)
            case 3:
                length = chance.randrange(1, 200)
                changed[at:at] = changed[at : at + length]
            case _:
                del changed[at : at + chance.choice((1, 8, 100, len(changed)))]
    return bytes(changed)


def damaged_value(value: Any, chance: random.Random) -> Any:
    """A document with one of its values, at any depth, replaced by a strange one."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(sorted(value))
        if chance.random() < 0.08:
            return {each: value[each] for each in value if each != name}
        return {**value, name: damaged_value(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        at = chance.randrange(len(value))
        return [*value[:at], damaged_value(value[at], chance), *value[at + 1 :]]
    if isinstance(value, int) and chance.random() < 0.3:
        return value * chance.choice((-1, 2, 10**6, 10**12)) + chance.randrange(-3, 4)
    return chance.choice(STRANGE)


def damaged_rows(data: bytes, chance: random.Random) -> bytes:
    """Numbers of rows replaced, rows repeated or turned into heads of many calls."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 5, 50))):
        if len(changed) < ROW.size:
            break
        row = chance.randrange(len(changed) // ROW.size) * ROW.size
        at = row + 8 * chance.randrange(ROW.size // 8)
        number = chance.choice((0, 1, -1, 2**62, chance.getrandbits(63), chance.randrange(10**9)))
        changed[at : at + 8] = number.to_bytes(8, "little", signed=True)
    return bytes(changed)


def damaged_folder(chance: random.Random, scratch: Path) -> Path:
    """A recording of an example with one of its files damaged, written to disk."""
    folder = scratch / "run"
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()
    files = dict(chance.choice(recordings()))
    name = chance.choice(sorted(files))
    for _ in range(chance.choice((1, 1, 3))):
        files[name] = _damaged_file(name, files[name], chance)
    for each, data in files.items():
        place = folder / each
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return folder


def _damaged_file(name: str, data: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.3:
        return damaged_bytes(data, chance)
    if name.endswith(".steps"):
        return damaged_rows(data, chance)
    if name.endswith(".events"):
        return _damaged_lines(data, chance)
    if name.endswith(".json"):
        try:
            return json.dumps(damaged_value(json.loads(data), chance)).encode()
        except ValueError:
            return damaged_bytes(data, chance)
    return damaged_bytes(data, chance)


def _damaged_lines(data: bytes, chance: random.Random) -> bytes:
    every = data.splitlines()
    for _ in range(chance.choice((1, 5, 40))):
        at = chance.randrange(len(every)) if every else 0
        try:
            every[at] = json.dumps(damaged_value(json.loads(every[at]), chance)).encode()
        except (ValueError, IndexError):
            continue
    return b"\n".join(every) + b"\n"
