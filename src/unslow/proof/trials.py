"""One trial: a fresh recorded process with fixed seeds, stopped after a number of steps."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from unslow.analyse.run.assemble import load
from unslow.facts.files import Folder
from unslow.facts.whatif import Switched
from unslow.model import Loop, Run
from unslow.proof import launch
from unslow.proof.loss_series import Series
from unslow.proof.workspace import Workspace

Floats = npt.NDArray[np.float64]
_FOLDER, _ERRORS, _WEIGHTS = "run", "stderr", "weights"  # in the place of a trial


@dataclass(frozen=True)
class Side:
    """What to run: a command in a directory, with some files replaced."""

    command: Sequence[str]
    cwd: str
    texts: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: str | None = None
    repeats: bool = False  # it does not train: steps are the calls that it repeats
    split: int = 0  # updates of its first step that are counted as steps of their own


@dataclass(frozen=True)
class Trial:
    """What one process showed. `seconds` holds every step of all its loops in order."""

    ended: str
    steps: int
    seconds: Floats
    ends: Floats
    rss: Floats  # resident bytes, at `rss_steps`
    rss_steps: Floats
    weights: dict[str, np.ndarray]
    peak: float  # the most resident bytes
    errors: str  # the end of its stderr
    took: float = 0.0  # seconds of the whole process
    group: int = 1  # updates that its first call made: Keras's steps_per_execution
    counted: int = 0  # steps while it ran; the first updates of a loop may not be known as one yet
    interrupted: bool = False
    compiled: bool = False  # XLA said on stderr that it compiled something
    switched: tuple[Switched, ...] = ()  # what the switches of `whatif` did
    # Bytes in the folders it writes to, at `files_steps`.
    files: Floats = field(default_factory=lambda: np.zeros(0))
    files_steps: Floats = field(default_factory=lambda: np.zeros(0))
    lost: Mapping[str, str] = field(default_factory=dict)  # probes and switches that failed, why
    series: Series = field(default_factory=dict)  # losses by name; only a trial with a seed has all

    @property
    def steady(self) -> float:
        """Mean seconds per step without the first call, which pays for tracing and device start."""
        rest = self.seconds[self.group :]
        return float(rest.mean()) if len(rest) else float("nan")

    @property
    def whole(self) -> float:
        """Mean seconds per step with the first one."""
        return float(self.seconds.mean()) if len(self.seconds) else float("nan")

    @property
    def first(self) -> float:
        return float(self.seconds[0]) if len(self.seconds) else float("nan")


@dataclass(frozen=True)
class Recorded:
    """A recorded process that has ended."""

    ended: launch.Ended
    run: Run
    errors: bytes  # what it wrote to stderr


@contextlib.contextmanager
def started_side(
    side: Side, place: Path, extra: Mapping[str, str], **options: object
) -> Iterator[launch.Started]:
    """Start a side in a copy of its directory; what it leaves goes into `place`."""
    folder = place / _FOLDER
    folder.mkdir()
    with (
        Workspace(side.cwd, side.texts) as workspace,
        (place / _ERRORS).open("wb") as stderr,
        Path(side.stdin or os.devnull).open("rb") as stdin,
    ):
        yield launch.start(
            workspace.command(side.command),
            str(folder),
            {**workspace.environment(), **side.env, **extra},
            None,
            cwd=str(workspace.cwd),
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            **options,
        )


def recorded_in(place: Path, ended: launch.Ended) -> Recorded:
    """What a side that has ended left in its place."""
    return Recorded(ended, load(str(place / _FOLDER)), (place / _ERRORS).read_bytes())


def record_side(side: Side, place: Path, extra: Mapping[str, str], timeout: float) -> Recorded:
    """Run a side to its end; the recording goes into `place`."""
    with started_side(side, place, extra) as started:
        ended = launch.wait(started, timeout)
    return recorded_in(place, ended)


def run_trial(
    side: Side,
    steps: int,
    seed: int = 0,
    nudge: float = 0.0,
    timeout: float = 3600.0,
    seconds: float | None = None,
) -> Trial:
    """Run one side once: some steps, or fewer when `seconds` have passed. Leaves no files behind.

    `seed` is also added to the seeds that the script sets itself; with one, losses are kept.
    """
    with tempfile.TemporaryDirectory(prefix="unslow-trial-") as folder:
        place = Path(folder)
        setting = {"seed": seed, "losses": seed != 0, "nudge": nudge, "seconds": seconds}
        recorded = record_side(side, place, trial_environment(side, place, steps, setting), timeout)
        return trial_of(recorded, place)


def trial_environment(
    side: Side, place: Path, steps: int, setting: Mapping[str, object]
) -> dict[str, str]:
    """What makes a recorded process a trial; see `record.trial.control`."""
    setting = {**setting, "steps": steps + side.split}
    chosen = {**setting, "out": str(place / _WEIGHTS), "repeats": side.repeats}
    return {"UNSLOW_TRIAL": json.dumps(chosen), "PYTHONHASHSEED": "0"}


def trial_of(recorded: Recorded, place: Path) -> Trial:
    """What a process that ended showed."""
    ended, run, errors = recorded.ended, recorded.run, recorded.errors
    loops = sorted(run.loops, key=lambda loop: loop.start)
    seconds = every_step(loops, [loop.seconds for loop in loops])
    ends = _joined([np.repeat(loop.end, loop.count * loop.group) for loop in loops])
    rss, steps = _memory(run, loops)
    files, files_steps = _files(run)
    weights, peak, counted = _weights(place / _WEIGHTS)
    return Trial(
        ended=ended.text,
        steps=len(seconds),
        seconds=seconds,
        ends=ends,
        rss=rss,
        rss_steps=steps,
        files=files,
        files_steps=files_steps,
        weights=weights,
        series=_series(place / _WEIGHTS, loops),
        counted=counted,
        interrupted=ended.interrupted,
        errors=errors[-4000:].decode("utf-8", "replace"),
        compiled=b"Compiled cluster using XLA" in errors,
        peak=peak or float(rss.max() if len(rss) else 0.0),
        took=run.seconds,
        group=loops[0].group if loops else 1,
        switched=_switched(run),
        lost={
            name: why
            for process in run.processes
            for name, why in process.probes.items()
            if why != "armed"
        },
    )


def _switched(run: Run) -> tuple[Switched, ...]:
    """What the switches reported, of every kind."""
    return tuple(fact for kind in Switched.__subclasses__() for fact in run.facts(kind))


def every_step(loops: Sequence[Loop], seconds: Sequence[Floats]) -> Floats:
    """Seconds of each update, in order; `seconds` are those of each loop's rows.

    Updates are compared, not groups: one side may make several in a call, the other one.
    """
    return _joined(
        [
            np.repeat(each / loop.group, loop.count * loop.group)
            for loop, each in zip(loops, seconds, strict=True)
        ]
    )


def _joined(parts: list[Floats]) -> Floats:
    return np.concatenate(parts) if parts else np.zeros(0)


def _memory(run: Run, loops: Sequence[Loop]) -> tuple[Floats, Floats]:
    """Resident memory during the loops, and the number of steps so far."""
    process = max(run.processes, key=lambda one: len(one.ticks.time), default=None)
    if process is None or not loops or "rss" not in process.ticks.columns:
        return np.zeros(0), np.zeros(0)
    inside = (process.ticks.time >= loops[0].start) & (process.ticks.time <= loops[-1].stop)
    columns = process.ticks.columns
    return columns["rss"][inside], columns["steps"][inside]


def _files(run: Run) -> tuple[Floats, Floats]:
    """Bytes in all folders that the training writes to, at each reading of one of them."""
    held: dict[tuple[int, str], float] = {}
    readings = []
    for folder in run.facts(Folder):
        held[folder.process, folder.folder] = folder.bytes
        readings.append((sum(held.values()), float(folder.step)))
    values: Floats = np.array(readings, dtype=float).reshape(-1, 2)
    return values[:, 0], values[:, 1]


def _series(out: Path, loops: Sequence[Loop]) -> Series:
    """The losses that a trial kept, and the last number that each step fetched."""
    try:
        kept = json.loads((out / "losses.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        kept = {}
    fetched = _joined([loop.values for loop in loops if loop.values is not None])
    series = {name: np.array(values, dtype=float) for name, values in kept.items()}
    return {**series, "value#0": fetched[np.isfinite(fetched)]}


def _weights(out: Path) -> tuple[dict[str, np.ndarray], float, int]:
    """The weights of a trial, by name (equal names are numbered), its peak memory and its steps."""
    try:
        written = json.loads((out / "weights.json").read_text())
        index, peak = written["weights"], float(written["peak_bytes"])
        counted = int(written["steps"])
        data = (out / "weights.bin").read_bytes()
    except (OSError, ValueError, KeyError):
        return {}, 0.0, 0
    found: dict[str, np.ndarray] = {}
    for entry in index:
        if not entry["name"]:
            continue  # a tensor that gradients were taken for, as fast weights are: no variable
        try:
            kind = np.dtype(entry["dtype"])
        except TypeError:  # bfloat16 and the like: compared as raw 16-bit numbers
            kind = np.dtype("<u2")
        size = int(np.prod(entry["shape"], dtype=np.int64))
        array = np.frombuffer(data, dtype=kind, count=size, offset=entry["offset"]).reshape(
            entry["shape"]
        )
        name, number = entry["name"], 1
        while name in found:
            number += 1
            name = f"{entry['name']}#{number}"
        found[name] = array
    return found, peak, counted


def difference(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> float | None:
    """The largest relative difference of any weight; None where they cannot be compared."""
    if not one or not other:
        return None
    pairs = _paired(one, other)
    if pairs is None:
        return float("inf")
    worst = 0.0
    for first, second in pairs:
        a, b = np.asarray(first, dtype=float).ravel(), np.asarray(second, dtype=float).ravel()
        gap = float(np.linalg.norm(a - b))
        if not np.isfinite(gap):
            if np.array_equal(a, b, equal_nan=True):
                continue
            return float("inf")
        size = max(float(np.linalg.norm(a)), float(np.linalg.norm(b)))
        worst = max(worst, gap / size if size > 0 else 0.0)
    return worst


def _paired(
    one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]
) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """By name where both have the same names and shapes, else in order where the shapes agree."""
    if set(one) == set(other) and all(one[name].shape == other[name].shape for name in one):
        return [(one[name], other[name]) for name in one]
    shapes = [[array.shape for array in side.values()] for side in (one, other)]
    if shapes[0] == shapes[1]:
        return list(zip(one.values(), other.values(), strict=True))
    return None
