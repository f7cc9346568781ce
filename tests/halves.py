"""Recordings cut short: what unslow would have known had the training been killed half-way."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from tests.examples import Example
from unslow.analyse.run.assemble import load
from unslow.model import Run
from unslow.runfolder.layout import ROW


def whole_and_half(example: Example, place: Path) -> tuple[Run, Run]:
    """A recording, and the same up to the middle step of its longest loop; both are unpacked below a folder."""
    folders = place / "whole", place / "half"
    for folder in folders:
        with zipfile.ZipFile(example.recording) as packed:
            packed.extractall(folder)
    whole = load(str(folders[0]))
    loop = max(whole.loops, key=lambda loop: loop.total)
    middle = float(loop.end[len(loop.end) // 2 - 1])
    _cut(folders[1], max(each.stop for each in whole.loops) - middle)
    return whole, load(str(folders[1]))


def _cut(folder: Path, seconds: float) -> None:
    """Leave out what was written in so many seconds before the last step, and after it."""
    rows = next(file for file in folder.glob("*.steps") if file.stat().st_size)
    data = rows.read_bytes()
    parts = [data[at : at + ROW.size] for at in range(0, len(data), ROW.size)]
    last = max(ROW.unpack(part)[0] for part in parts) - seconds * 1e9
    rows.write_bytes(b"".join(part for part in parts if ROW.unpack(part)[0] <= last + 1))
    events = rows.with_suffix(".events")
    lines = events.read_text().splitlines()
    events.write_text("".join(f"{line}\n" for line in lines if json.loads(line)["t"] <= last))
