"""Checkpoints, event files or profiles pile up until the disk is full."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.host.saves import FolderGrowth, Saves, folder_growth, saves_of
from unslow.analyse.run.tallies import line_totals
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause
from unslow.facts.files import Folder, Log, Save
from unslow.facts.keras import Epoch
from unslow.fix.edit.script import Script
from unslow.fix.moves.call_arguments import set_keyword
from unslow.model import Evidence, Finding, Fix, Forecast, Location, Loop, Refusal, Run, Safety

_LEAST_BYTES = 16 << 20  # a judgement: a run may leave this much behind
_LEAST_FILES = 4  # new checkpoints; fewer mean that files are overwritten
_LONGER_RUN = 10  # times this run: the disk must have room for it; a judgement
_SOON = 7 * 86_400.0  # seconds until the disk is full; a judgement: later needs no warning
_KEPT = 5  # the default of tf.train.Saver
_POSITION = {"CheckpointManager": 2, "Saver": None}  # of max_to_keep
_KEEP_SOME = f"Give it `max_to_keep={_KEPT}`"
_ADVICE = {  # by what saves
    "": "Write summaries every N steps, and histograms and images more rarely still.",
    "CheckpointManager": f"{_KEEP_SOME}.",
    "Saver": f"{_KEEP_SOME}, and use one Saver for all steps.",
    "ModelCheckpoint": "Without `{epoch}` in its path it keeps one file; with "
    "`save_best_only=True` the best.",
}


@dataclass(frozen=True)
class _Growth:
    """How fast a folder grows, and what saves to it, if that is known."""

    bytes_per_step: float
    call: str
    keep: int


class FileGrowth(Cause):
    """
    What happens
    Every checkpoint, event file or profile that the training writes is kept: the folder grows with
    the steps.

    Why it is slow
    It is not, until the disk is full. Then saving fails and the training stops, often with a
    truncated checkpoint. Before that, listing and copying the folder becomes slow.

    The fix
    Keep only the last few: `tf.train.CheckpointManager(checkpoint, folder, max_to_keep=5)`, or
    `max_to_keep=5` in a `Saver`. Keras's `ModelCheckpoint` keeps one file if its path does not
    contain `{epoch}`. Write summaries every N steps, and profile only a few steps.

    When we are wrong
    If all checkpoints are wanted, they need a disk that holds them; the rate and the time until it
    is full are measured. We only see the folder while the training runs, not what cleans it up
    later.
    """

    title = "files pile up"
    yields = True
    reads = (Folder, Save, Log, Epoch)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            saves = {found.last.folder: found for found in reversed(saves_of(run, loop))}
            for growth in folder_growth(run, loop):
                saver = saves.get(growth.last.folder)
                if not _keeps_growing(growth, saver) or _seconds_left(loop, growth) > _SOON:
                    continue
                has_room = _LONGER_RUN * growth.gained < growth.last.free
                if not (has_room and _is_once_an_epoch(run, loop, saver)):
                    yield self._finding(run, loop, growth, saver)

    def _finding(self, run: Run, loop: Loop, growth: FolderGrowth, saves: Saves | None) -> Finding:
        folder, rate = growth.last, growth.rate
        saver = saves.last if saves is not None else Save()
        left = _duration(_seconds_left(loop, growth))
        evidence = [
            Evidence("in the folder", folder.bytes, "bytes"),
            Evidence("files", folder.files),
            Evidence("per step", rate, "bytes"),
            Evidence("left on the disk", folder.free, "bytes"),
        ]
        if saves is not None:
            evidence.append(Evidence("one checkpoint", saver.bytes, "bytes"))
        return Finding(
            cause=self.id,
            location=_where(run, loop, folder, saves),
            seconds=0.0,
            grows=True,
            title=f"{folder.folder} grows by {say.size(1000 * rate)} per 1,000 steps: "
            f"the disk is full in {left}",
            evidence=tuple(evidence),
            forecast=Forecast(
                step=loop.steps * 10,
                bytes=folder.bytes + 9 * loop.steps * rate,
                text=f"the disk is full after about {say.estimate(folder.free / rate):,} more "
                f"steps, {left} after the end of this run",
                on_disk=True,
            ),
            advice=_advice(saver.call),
            detail=_Growth(rate, saver.call, saver.keep),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, saver = finding.place, finding.detail_of(_Growth)
        if saver.call not in _POSITION or saver.keep != 0:
            return None
        position = _POSITION[saver.call]
        fixed = set_keyword(script, where.line, saver.call, "max_to_keep", str(_KEPT), position)
        return Fix(
            f"keep the last {_KEPT} checkpoints",
            Safety.REVIEW,
            {where.file: fixed.text},
            note=f"All but the last {_KEPT} checkpoints are then deleted.",
        )


def _keeps_growing(growth: FolderGrowth, saves: Saves | None) -> bool:
    """Whether a folder gains much, in new files, and no saver will delete old ones."""
    if growth.rate <= 0 or growth.gained < _LEAST_BYTES:
        return False
    if growth.last.holds == "checkpoints" and growth.new_files < _LEAST_FILES:
        return False
    return saves is None or saves.last.keep <= 0


def _is_once_an_epoch(run: Run, loop: Loop, saves: Saves | None) -> bool:
    """Whether one checkpoint per epoch is kept, as the program asks for."""
    epochs = sum(loop.holds(epoch) for epoch in run.facts(Epoch))
    return saves is not None and 0 < saves.count <= epochs


def _seconds_left(loop: Loop, growth: FolderGrowth) -> float:
    """Until the disk is full, at the rate of this loop."""
    per_second = growth.rate * loop.steps / max(loop.total, 1e-9)
    return growth.last.free / max(per_second, 1e-9)


def _where(run: Run, loop: Loop, folder: Folder, saves: Saves | None) -> Location:
    """The line that decides how many files are kept, or else the line that writes them."""
    if saves is not None:
        decides = saves.made if saves.last.call in _POSITION else None
        return decides or saves.where
    logs = line_totals(run, loop, Log) if folder.holds == "summaries" else []
    return logs[0].location if logs else loop.update


def _advice(call: str) -> str:
    if call in _ADVICE:
        return _ADVICE[call]
    if call.startswith("Checkpoint"):
        return (
            "Save through a `tf.train.CheckpointManager(checkpoint, folder, max_to_keep=5)`, "
            "which deletes old checkpoints."
        )
    return "Write to the same file each time."


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86_400.0), ("hours", 3600.0)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.0f} {unit}"
    return say.time(seconds)


def _folder(
    step: int, size: float, files: int, free: float = 1e11, holds: str = "checkpoints"
) -> Placed:
    seen = Folder(folder="out", holds=holds, bytes=size, files=files, step=step, free=free)
    return at(step, seen.replace(key="out", n=step))


def _save(step: int, keep: int = 0) -> Placed:
    saved = Save(key="a", call="CheckpointManager", folder="out", bytes=1e6, keep=keep)
    places = {"stack": stack_at(13, "f"), "made": stack_at(5, "f")}
    return at(step, saved.replace(n=step // 10, sum=0.001 * step, took=0.01, step=step, **places))


_CHECKPOINTS = [_folder(step, step * 1e6, step) for step in (10, 25, 50, 75, 100)]
FileGrowth.FIRES = (
    Sketch(
        "a manager that keeps all of its checkpoints",
        [0.01] * 100,
        facts=[
            *_CHECKPOINTS,
            *map(_save, (10, 50, 100)),
        ],
    ),
    Sketch(
        "an event file that fills the disk",
        [0.01] * 100,
        facts=[_folder(at, at * 1e6, 1, holds="summaries") for at in (10, 25, 50, 75, 100)],
    ),
)
FileGrowth.QUIET = (
    Sketch(
        "a folder that has as many checkpoints as it keeps",
        [0.01] * 100,
        facts=[_folder(at, min(at, 40) * 1e6, min(at, 40)) for at in (10, 25, 50, 60, 75, 100)],
    ),
    Sketch(
        "a manager that has not yet as many checkpoints as it keeps",
        [0.01] * 100,
        facts=[
            *_CHECKPOINTS,
            _save(10, 200),
            _save(50, 200),
        ],
    ),
    Sketch(
        "all epochs of a long training are kept, and the disk takes them for years",
        [100.0] * 100,
        facts=_CHECKPOINTS,
    ),
    Sketch(
        "one checkpoint of every epoch",
        [0.01] * 100,
        style="keras",
        facts=[
            *[_folder(at, at * 1e6, at // 10) for at in (20, 40, 60, 80, 100)],
            *[at(step, Epoch(epoch=step // 10, step=step)) for step in range(10, 101, 10)],
            *[_save(step, -1) for step in range(10, 101, 10)],
        ],
    ),
    Sketch(
        "event files of a few MB",
        facts=[_folder(at, at * 1e5, 1, 1e9, "summaries") for at in (10, 50, 75, 100)],
    ),
)
