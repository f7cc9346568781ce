"""Checkpoints, event files or profiles pile up until the disk is full."""

from __future__ import annotations

from collections.abc import Iterable

from unslow.analyse import wording as say
from unslow.analyse.host.saves import Folder, Saves, folders_of, saves_of
from unslow.analyse.run.tallies import totals
from unslow.analyse.sketches.sketch import Fact, Sketch, fact
from unslow.cause import Cause
from unslow.fix.edit.script import Script
from unslow.fix.moves.call_arguments import set_keyword
from unslow.model import Evidence, Finding, Fix, Forecast, Location, Loop, Refusal, Run, Safety

_LEAST_BYTES = 16 << 20  # what a run may leave behind without a word
_LEAST_FILES = 4
_SOON = 7 * 86_400.0  # seconds until the disk is full, at this rate, that are worth a word
_KEPT = 5
_POSITION = {"CheckpointManager": 2}  # of max_to_keep


def _folder(
    at: int, size: float, files: int, free: float = 1e11, kind: str = "checkpoints"
) -> Fact:
    return fact(
        "folder",
        at,
        folder="out",
        holds=kind,
        bytes=size,
        files=files,
        step=at,
        free=free,
        key="out",
        n=at,
    )


def _save(at: int, keep: int = 0) -> Fact:
    return fact(
        "save",
        at,
        n=at // 10,
        sum=0.001 * at,
        took=0.01,
        key="a",
        call="CheckpointManager",
        name="c",
        folder="out",
        bytes=1e6,
        step=at,
        stack=[["train.py", 13, "f"]],
        made=[["train.py", 5, "f"]],
        keep=keep,
        in_fit=False,
        options={},
    )


class FileGrowth(Cause):
    """
    What happens

    Every checkpoint, event file or profile that the training writes stays: the folder grows with the steps.

    Why it is slow

    It is not, until the disk is full: then saving fails and the training dies, mostly at night and with a
    checkpoint cut in half. Before that, listing and copying the folder gets slow.

    The fix

    Keep the last few: `tf.train.CheckpointManager(checkpoint, folder, max_to_keep=5)`; in a `Saver` `max_to_keep=5`.
    Keras's `ModelCheckpoint` keeps one file if its path holds no `{epoch}`. Write summaries every N steps, and
    profile a few steps only.

    When we are wrong

    Where all checkpoints are wanted, they need a disk that holds them: the rate and the time until it is full
    are measured. A folder that something else empties now and then is only looked at while the training runs.
    """

    title = "files pile up"
    yields = True
    needs = ("files",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            for folder in folders_of(run, loop):
                per_second = folder.rate * loop.steps / max(loop.total, 1e-9)
                if (
                    per_second <= 0
                    or folder.gained < _LEAST_BYTES
                    or folder.free / per_second > _SOON
                ):
                    continue
                if folder.kind == "checkpoints" and folder.new_files < _LEAST_FILES:
                    continue  # the same few files, written again and again
                saves = next(
                    (found for found in saves_of(run, loop) if found.folder == folder.path), None
                )
                if (
                    saves is None or int(saves.data.get("keep", -1)) <= 0
                ):  # else it stops at what the saver keeps
                    yield self._finding(run, loop, folder, saves, folder.free / per_second)

    def _finding(
        self, run: Run, loop: Loop, folder: Folder, saves: Saves | None, full: float
    ) -> Finding:
        ahead = int(folder.free / folder.rate)
        return Finding(
            cause=self.id,
            location=_where(run, loop, folder, saves),
            seconds=0.0,
            grows=True,
            title=f"{folder.path} grows by {say.size(1000 * folder.rate)} per 1,000 steps: the disk is full in "
            f"{_long(full)}",
            evidence=(
                Evidence("in the folder", folder.bytes, "bytes"),
                Evidence("files", folder.files),
                Evidence("per step", folder.rate, "bytes"),
                Evidence("left on the disk", folder.free, "bytes"),
                *([Evidence("one checkpoint", saves.bytes, "bytes")] if saves else []),
            ),
            forecast=Forecast(
                step=loop.steps * 10,
                bytes=folder.bytes + 9 * loop.steps * folder.rate,
                text=f"the disk is full after {ahead:,} more steps, {_long(full)} from the end of this run",
            ),
            advice=_advice(folder, saves),
            facts={
                "call": saves.call if saves else "",
                "keep": saves.data.get("keep", -1) if saves else -1,
                "bytes_per_step": folder.rate,
            },
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, maker = finding.location, str(finding.facts["call"])
        if (
            where is None
            or maker not in ("CheckpointManager", "Saver")
            or finding.facts["keep"] != 0
        ):
            return None
        fixed = set_keyword(
            script, where.line, maker, "max_to_keep", str(_KEPT), _POSITION.get(maker)
        )
        return Fix(
            f"keep the last {_KEPT} checkpoints",
            Safety.REVIEW,
            {where.file: fixed.text},
            note=f"Older checkpoints are then deleted as new ones come: the last {_KEPT} stay.",
        )

    FIRES = (
        Sketch(
            "a manager that keeps all of its checkpoints",
            [0.01] * 100,
            facts=[
                *[_folder(at, at * 1e6, at) for at in (10, 25, 50, 75, 100)],
                *map(_save, (10, 50, 100)),
            ],
        ),
        Sketch(
            "an event file that fills the disk",
            [0.01] * 100,
            facts=[_folder(at, at * 1e6, 1, kind="summaries") for at in (10, 25, 50, 75, 100)],
        ),
    )
    QUIET = (
        Sketch(
            "a folder that has as many checkpoints as it keeps",
            [0.01] * 100,
            facts=[_folder(at, min(at, 40) * 1e6, min(at, 40)) for at in (10, 25, 50, 60, 75, 100)],
        ),
        Sketch(
            "a manager that has not yet as many checkpoints as it keeps",
            [0.01] * 100,
            facts=[
                *[_folder(at, at * 1e6, at) for at in (10, 25, 50, 75, 100)],
                _save(10, 200),
                _save(50, 200),
            ],
        ),
        Sketch(
            "all epochs of a long training are kept, and the disk takes them for years",
            [100.0] * 100,
            facts=[_folder(at, at * 1e6, at) for at in (10, 25, 50, 75, 100)],
        ),
        Sketch(
            "event files of a few MB",
            facts=[_folder(at, at * 1e5, 1, 1e9, "summaries") for at in (10, 50, 75, 100)],
        ),
    )


def _where(run: Run, loop: Loop, folder: Folder, saves: Saves | None) -> Location:
    """Where it is said how many files stay: the saver's maker, or else the line that writes."""
    if saves is not None:
        keeps = saves.call in ("CheckpointManager", "Saver")
        return saves.made if saves.made is not None and keeps else saves.where
    logs = totals(run, loop, "log") if folder.kind == "summaries" else []
    return logs[0].location if logs else loop.update


def _advice(folder: Folder, saves: Saves | None) -> str:
    if saves is None:
        return "Write summaries every N steps, and histograms and images more rarely still."
    by = {
        "CheckpointManager": f"Give it `max_to_keep={_KEPT}`.",
        "Saver": f"Give it `max_to_keep={_KEPT}`, and use one Saver for all steps.",
        "ModelCheckpoint": "Without `{epoch}` in its path it keeps one file; with `save_best_only=True` the best.",
    }
    words = "Save through a `tf.train.CheckpointManager(checkpoint, folder, max_to_keep=5)`, which deletes old ones."
    return by.get(
        saves.call,
        words if saves.call.startswith("Checkpoint") else "Write to the same file each time.",
    )


def _long(seconds: float) -> str:
    for unit, length in (("days", 86_400.0), ("hours", 3600.0)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.0f} {unit}"
    return say.time(seconds)
