"""Facts about what the training writes: checkpoints, summaries, logs, and the folders they fill."""

from __future__ import annotations

from collections.abc import Mapping

from unslow.facts.schema import FilePath, Stack, Tally, Thinned


class Save(Thinned, probe="files"):
    """A checkpoint or a model was written."""

    call: str = ""  # Checkpoint.save, CheckpointManager, Saver, Model.save, ModelCheckpoint, …
    name: str = ""
    folder: FilePath = ""
    bytes: float = 0.0  # 0 where it was not written yet
    step: int = 0
    stack: Stack = ()
    made: Stack = ()  # where the saver or the callback was made
    keep: int = -1  # checkpoints that the saver keeps: 0 is all of them, -1 is unknown
    in_fit: bool = False
    options: Mapping[str, int | str] = {}  # of a callback: save_freq, save_best_only, …
    weights_bytes: float = 0.0  # of a Keras model that is saved whole
    slots_bytes: float = 0.0  # of its optimizer


class Log(Tally, probe="files"):
    """Summaries and log lines that were written at a line."""

    call: str = ""
    made: Stack = ()  # where the TensorBoard callback was made


class LoadedAgain(Tally, probe="files"):
    """Saved models that a line loaded from a path which had been loaded before."""


class Folder(Thinned, probe="files"):
    """How much is in a folder that the training writes to."""

    folder: FilePath
    holds: str = ""  # checkpoints or summaries
    bytes: float = 0.0
    files: int = 0
    step: int = 0
    free: float = 0.0  # bytes that the disk still takes
