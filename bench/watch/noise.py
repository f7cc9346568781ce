"""The noise of real recordings: step times for simulated trainings, and blocks of long runs as they were."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unslow.analyse.stats.trend import trend_of
from unslow.live.follow import Follower
from unslow.model import Shape
from unslow.runfolder.steplog import rows_of
from unslow.watch.blocks import Block, Blocks
from unslow.watch.load import Load, Usage, of_tick

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).with_name("long_runs.json")
_FEWEST = 150  # steps from which noise can be drawn
_WARM = 20  # steps at the start


@dataclass(frozen=True)
class StepNoise:
    """The steps of a recording without a trend, divided by their median."""

    name: str
    step: float  # seconds
    ratios: Any


@dataclass(frozen=True)
class LongRun:
    """Blocks of a real run, with what the processors did during each."""

    name: str
    blocks: list[tuple[Block, Usage]]


def step_noises() -> list[StepNoise]:
    """Recordings in the tree whose steps neither drift nor jump."""
    found = [_noise_of(name, data) for name, data in sorted(_logs())]
    return [noise for noise in found if noise is not None]


def _logs() -> Iterator[tuple[str, bytes]]:
    for archive in (ROOT / "examples" / "recorded").glob("*.zip"):
        with zipfile.ZipFile(archive) as files:
            for name in files.namelist():
                if name.endswith(".steps"):
                    yield archive.stem, files.read(name)
    for log in (ROOT / ".field").glob("*/run/*.steps"):
        yield log.parts[-3], log.read_bytes()


def _noise_of(name: str, data: bytes) -> StepNoise | None:
    rows = rows_of(data)
    if not len(rows):
        return None
    sites, counts = np.unique(rows["site"], return_counts=True)
    steps = rows[rows["site"] == sites[np.argmax(counts)]]["total"][_WARM:] / 1e9
    if len(steps) < _FEWEST or trend_of(steps).shape not in (Shape.STEADY, Shape.PERIODIC):
        return None
    typical = float(np.median(steps))
    return StepNoise(name, typical, steps / typical)


def long_run(folder: Path) -> LongRun:
    """The blocks of a recorded run of many minutes."""
    follower = Follower(str(folder))
    follower.poll()
    process = max(follower.trained, key=lambda each: each.rows.steps_seen)
    load = Load(int(process.first("machine").get("cores") or 1))
    blocks = Blocks().add(process.rows.fresh)
    ticks = process.fresh_ticks
    found, taken = [], 0
    for block in blocks:  # in turn, since few readings are kept
        while taken < len(ticks) and load.span[1] < block.end:
            load.add(of_tick(ticks[taken]))
            taken += 1
        found.append((block, load.usage(block.begin, block.end)))
    return LongRun(folder.name, found)


def keep(runs: list[LongRun]) -> None:
    """Keep the blocks of long runs with the project, so that months can be simulated anywhere."""
    plain = {
        run.name: [[_short(value) for value in (*astuple(b), *astuple(u))] for b, u in run.blocks]
        for run in runs
    }
    KEPT.write_text(json.dumps(plain, separators=(",", ":")).replace("],[", "],\n[") + "\n")


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def kept() -> list[LongRun]:
    found = []
    for name, rows in json.loads(KEPT.read_text()).items():
        pairs = [(_block(row[:7]), Usage(*row[7:])) for row in rows]
        found.append(LongRun(name, pairs))
    return found


def _block(row: Sequence[float]) -> Block:
    begin, end, site, octave, step, element, mean = row
    return Block(begin, end, int(site), int(octave), step, element, mean)
