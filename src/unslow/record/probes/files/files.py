"""Sees what the training writes: checkpoints, summaries, log lines, and the folders they fill."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, ModuleType
from typing import NamedTuple

from unslow.facts.files import LoadedAgain, Log, Save
from unslow.facts.phase import Phase
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.frames import local_names
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.probes.files.folders import LONGEST, Folders, filled

_SAVE, _LOG = int(Phase.SAVE), int(Phase.LOG)
_MOST_MAKERS = 1000
_USUAL_BYTES = 4.0  # of a number in a variable
_SHARDS = (".index", ".data-00000-of-00001", ".meta", "")
_PATHS = ("filepath", "file_prefix", "save_path", "export_dir")  # names of the path to save to
_OPTIONS = ("save_freq", "save_best_only", "save_weights_only", "period")  # of callbacks
_FILE_WRITER = (
    "SummaryToEventTransformer.add_summary",
    "SummaryToEventTransformer.add_run_metadata",
    "FileWriter.add_event",
    "FileWriter.flush",
)
_SKIPPING = ("ModelCheckpoint", "BackupAndRestore")  # return nothing; may decide not to save


class _Saved(NamedTuple):
    """One call that saved."""

    saver: Foreign
    call: str
    path: str  # empty where neither the result nor an argument is a path
    took: int


class Files(Probe):
    name = "files"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        # id of a saver or callback → the user's lines that made it
        self._made: dict[int, Foreign] = {}
        self._folders = Folders(self.recorder, self.steps)
        self._loaded: set[str] = set()  # paths of saved models
        self._inner = ""  # the path that a save inside another save wrote to

    def _loading(self, original: Function) -> Function:
        """Add up what is loaded again; the path is the first parameter on 2.15 to 2.21."""
        tally, loaded, local = self.recorder.tally, self._loaded, self.recorder.local
        name = next(iter(inspect.signature(original).parameters))

        def load(*args: Foreign, **kwargs: Foreign) -> object:
            began = clock()
            result = original(*args, **kwargs)
            path = args[0] if args else kwargs.get(name)
            if type(path) is str and not local.lane.busy:
                if path in loaded:
                    tally(LoadedAgain, sys._getframe().f_back, clock() - began)
                elif len(loaded) < _MOST_MAKERS:
                    loaded.add(path)
            return result

        return load

    def doors(self) -> Doors:
        doors: Doors = {
            "tensorflow": self._on_tensorflow,
            "tensorflow.python.checkpoint.checkpoint": self.wrapping(
                {
                    f"{kind}.{way}": self._named(f"Checkpoint.{way}")
                    for kind in ("Checkpoint", "CheckpointV1")
                    for way in ("save", "write")
                }
            ),
            "tensorflow.python.checkpoint.checkpoint_management": lambda m: self._on_saver(
                m.CheckpointManager, "save"
            ),
            "tensorflow.python.training.saver": lambda m: self._on_saver(m.Saver, "save"),
            "tensorflow.python.saved_model.save": self.wrapping(
                {"save": self._named("saved_model.save")}
            ),
            "tensorflow.python.saved_model.load": self.wrapping({"load": self._loading}),
            "tensorflow.python.summary.writer.writer": self.wrapping(
                {path: self._logging(f"FileWriter.{path.split('.')[1]}") for path in _FILE_WRITER}
            ),
            "tensorflow.python.summary.writer.event_file_writer": self.wrapping(
                {"EventFileWriter.__init__": self._opened}
            ),
            "tensorflow.python.ops.summary_ops_v2": self._on_summaries,
            "keras.src.models.model": lambda m: self._on_model(m.Model),
            "keras.src.callbacks.model_checkpoint": lambda m: self._on_saver(
                m.ModelCheckpoint, "_save_model"
            ),
            "keras.src.callbacks.backup_and_restore": lambda m: self._on_saver(
                m.BackupAndRestore, "_save_model"
            ),
            "keras.src.callbacks.tensorboard": self.wrapping({"TensorBoard.__init__": self._init}),
        }
        for keras in ("keras", "tf_keras"):
            doors[f"{keras}.src.saving.saving_api"] = self.wrapping({"load_model": self._loading})
            doors[f"{keras}.src.engine.training"] = lambda m: self._on_model(m.Model)
            doors[f"{keras}.src.callbacks"] = self._on_keras_2_callbacks
        return doors

    def _on_tensorflow(self, module: ModuleType) -> None:
        import logging  # TensorFlow has loaded it by now

        self.replace(logging.Logger, "callHandlers", self._logging("logging"))
        self.recorder.signals.tick.subscribe(self.name, self._folders.measure_if_due)

    def _on_saver(self, kind: Foreign, way: str) -> None:
        self.replace(kind, "__init__", self._init)
        if hasattr(kind, way):
            self.replace(kind, way, self._named(kind.__name__))

    def _on_model(self, model: object) -> None:
        for way in ("save", "save_weights"):
            self.replace(model, way, self._named(f"Model.{way}"))

    def _on_keras_2_callbacks(self, module: ModuleType) -> None:
        if hasattr(module, "CallbackList"):  # Keras 3 has a package of this name
            self._on_saver(module.ModelCheckpoint, "_save_model")
            self.replace(module.TensorBoard, "__init__", self._init)

    def _on_summaries(self, module: ModuleType) -> None:
        self.replace(module, "write", self._logging("tf.summary"))
        self.replace(module, "create_file_writer_v2", self._writer)
        # Seen in 2.15–2.21; where it is missing only the flushes are not counted.
        if hasattr(module, "_ResourceSummaryWriter"):
            self.replace(module._ResourceSummaryWriter, "flush", self._logging("flush"))

    def _init(self, original: Function) -> Function:
        """Remember the user's line that made a saver: it says how often and how many."""
        probe = self

        def __init__(self: object, *args: object, **kwargs: object) -> None:
            original(self, *args, **kwargs)
            if len(probe._made) < _MOST_MAKERS:
                probe._made[id(self)] = probe.recorder.stack(sys._getframe().f_back, 2)

        return __init__

    def _opened(self, original: Function) -> Function:
        probe = self

        def __init__(self: object, logdir: object, *args: object, **kwargs: object) -> None:
            original(self, logdir, *args, **kwargs)
            probe._folders.fills(logdir, "summaries")

        return __init__

    def _writer(self, original: Function) -> Function:
        probe = self

        def create_file_writer_v2(logdir: object, *args: object, **kwargs: object) -> object:
            probe._folders.fills(logdir, "summaries")
            return original(logdir, *args, **kwargs)

        return create_file_writer_v2

    def _named(self, call: str) -> Callable[[Foreign], Foreign]:
        return lambda original: self._saving(original, call)

    def _saving(self, original: Function, call: str) -> Function:
        local, open_span = self.recorder.local, self.recorder.open_span
        close = self.recorder.close_span
        probe = self

        def save(self: object, *args: object, **kwargs: object) -> object:
            lane = local.lane
            if lane.tracing or lane.busy:
                return original(self, *args, **kwargs)
            if lane.within == _SAVE:  # a manager saves through a checkpoint
                result = original(self, *args, **kwargs)
                probe._inner = _path(result, args, kwargs) or probe._inner
                return result
            outer, lane.within = lane.within, _SAVE
            probe._inner = ""
            entry = open_span(lane, _SAVE)
            try:
                result = original(self, *args, **kwargs)
            finally:
                took = close(lane, entry)
                lane.within = outer
            saved = _Saved(self, call, _path(result, args, kwargs), took)
            probe._record(lane, saved, sys._getframe().f_back)
            return result

        return save

    def _record(self, lane: Lane, saved: _Saved, frame: FrameType | None) -> None:
        with self.inspection(lane):
            path = "" if saved.call in _SKIPPING else saved.path
            if path or self._inner:  # else it was not yet time to save
                self._record_save(saved._replace(path=path or self._inner), frame)

    def _record_save(self, saved: _Saved, frame: FrameType | None) -> None:
        saver, path = saved.saver, saved.path
        place = self.recorder.user.innermost(frame) or ("", 0, "")
        key = f"{saved.call}@{place[0]}:{place[1]}"
        if not self.recorder.wants(Save, key):
            self.recorder.count(Save, key, saved.took)
            return
        options = {name: getattr(saver, name, None) for name in _OPTIONS}
        weights, slots = _parts(saver)
        self.recorder.emit(
            Save(
                key=key,
                took=saved.took,
                call=saved.call,
                name=os.path.basename(path),
                folder=self._folders.fills(os.path.dirname(path) or ".", "checkpoints"),
                bytes=_size(path),
                step=self.steps.total,
                stack=self.recorder.stack(frame),
                made=self._made.get(id(saver), ()),
                keep=_kept(saver),
                in_fit=self.recorder.local.lane.fit is not None,
                options={
                    name: value for name, value in options.items() if isinstance(value, int | str)
                },
                weights_bytes=weights,
                slots_bytes=slots,
            )
        )

    def _logging(self, call: str) -> Callable[[Foreign], Foreign]:
        local, open_span = self.recorder.local, self.recorder.open_span
        close = self.recorder.close_span
        probe = self

        def make(original: Function) -> Function:
            def write(*args: object, **kwargs: object) -> object:
                lane = local.lane
                if lane.tracing or lane.busy or lane.within in (_LOG, _SAVE):
                    return original(*args, **kwargs)
                outer, lane.within = lane.within, _LOG
                entry = open_span(lane, _LOG)
                try:
                    return original(*args, **kwargs)
                finally:
                    took = close(lane, entry)
                    lane.within = outer
                    probe._logged(sys._getframe().f_back, call, took)

            return write

        return make

    def _logged(self, frame: FrameType | None, call: str, took: int) -> None:
        """Count for the user's line that wrote, or below which a library did."""
        owns, board = self.recorder.user.owns, None
        while frame is not None and not owns(frame.f_code):
            if _is_tensorboard(frame):
                board = frame
            frame = frame.f_back
        if frame is None:
            return
        data: dict[str, Foreign] = {}
        if not self.recorder.is_tallied(Log, frame):
            maker = dict(local_names(board)).get("self") if board is not None else None
            by = call if maker is None else "TensorBoard"
            data = {"call": by, "made": self._made.get(id(maker), ())}
        self.recorder.tally(Log, frame, took, **data)

    def disarm(self) -> None:
        super().disarm()
        if self.recorder.signals.tick.unsubscribe(self._folders.measure_if_due):
            self._folders.measure_at_end()


def _is_tensorboard(frame: FrameType) -> bool:
    """Whether a frame is a method of Keras's callback."""
    code = frame.f_code
    return code.co_filename.endswith("tensorboard.py") and "self" in code.co_varnames


def _path(result: object, args: tuple[Foreign, ...], kwargs: dict[str, Foreign]) -> str:
    """Where a save wrote to: what it returned, or else what it was given."""
    named = (kwargs.get(name) for name in _PATHS)
    for value in (result, *named, *args):
        if isinstance(value, str | os.PathLike):
            with suppress(Exception):  # a path of the program's own kind
                return str(os.fspath(value))
    return ""


def _size(path: str) -> int:
    """Bytes of a file, a folder, or a checkpoint of one shard; 0 where it is not written yet."""
    if "://" in path:
        return 0
    if os.path.isdir(path):
        return filled(path, clock() + LONGEST)[0]
    return sum(os.path.getsize(path + end) for end in _SHARDS if os.path.isfile(path + end))


def _kept(saver: Foreign) -> int:
    """How many checkpoints a saver keeps: 0 is all of them, -1 that it does not say."""
    if hasattr(saver, "_max_to_keep"):  # CheckpointManager, 2.15–2.21
        return int(saver._max_to_keep or 0)
    definition = getattr(saver, "saver_def", None)
    return int(definition.max_to_keep) if definition is not None else -1


def _parts(saver: Foreign) -> tuple[float, float]:
    """Bytes of the weights and of the optimizer's slots, where a Keras model is saved whole."""
    model: Foreign = getattr(saver, "model", saver)
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None or not isinstance(getattr(model, "weights", None), list):
        return 0.0, 0.0
    slots = getattr(optimizer, "variables", ())
    held = slots() if callable(slots) else slots  # a method in Keras 2.10 and before
    return sum(map(_bytes, model.weights)), sum(map(_bytes, held))


def _bytes(variable: Foreign) -> float:
    name = str(getattr(variable.dtype, "name", variable.dtype))
    bits = name.lstrip("abcdefghijklmnopqrstuvwxyz_")  # "bfloat16", "float32_ref", "bool"
    size = int(bits) / 8 if bits.isdigit() else _USUAL_BYTES
    for side in variable.shape:
        size *= int(side or 0)
    return size
