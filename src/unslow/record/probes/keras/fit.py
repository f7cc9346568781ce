"""Sees Keras's own loop: fit, and what evaluates and predicts; Keras 2 and 3."""

from __future__ import annotations

import sys
from functools import partial
from types import FrameType, ModuleType
from typing import NamedTuple

from unslow.facts.keras import Fit, Prediction, Validation
from unslow.facts.phase import Phase
from unslow.record.engine.fence import attempted
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.frames import local_names
from unslow.record.engine.keras_classes import base_trainer, tensorflow_trainer
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane

_EVAL, _BUILD = int(Phase.EVAL), int(Phase.BUILD)
_EVALUATING = ("evaluate", "predict", "test_on_batch", "predict_on_batch")
_KERAS = ("keras.src.", "tf_keras.src.")


class _Arguments(NamedTuple):
    """What Keras was called with: fit, evaluate and predict all take x first."""

    args: tuple[Foreign, ...]
    kwargs: dict[str, Foreign]

    @property
    def data(self) -> Foreign:
        return self.args[0] if self.args else self.kwargs.get("x")

    def batch_size(self, call: str) -> Foreign:
        if call == "predict" and len(self.args) > 1:
            return plain(self.args[1])
        return plain(self.kwargs.get("batch_size"))


class Keras(Probe):
    name = "keras"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._fits: dict[Foreign, dict[str, Foreign]] = {}
        if self.recorder.late:  # a thread may be in the middle of a fit()
            self.recorder.joining.append(self._join)

    def doors(self) -> Doors:
        doors: Doors = {
            "keras.src.backend.tensorflow.trainer": lambda module: self._on_trainer(
                tensorflow_trainer(module)
            ),
            "keras.src.trainers.trainer": lambda module: self.spanned(
                base_trainer(module), "compile", _BUILD
            ),
        }
        for keras in ("keras", "tf_keras"):
            doors[f"{keras}.src.engine.training"] = self._on_keras_2
        return doors

    def _on_keras_2(self, module: ModuleType) -> None:
        self._on_trainer(module.Model)
        self.spanned(module.Model, "compile", _BUILD)

    def _on_trainer(self, trainer: object) -> None:
        self.replace(trainer, "fit", self._fit)
        for name in _EVALUATING:
            self.replace(trainer, name, partial(self._evaluate, name))

    def _fit(self, original: Function) -> Function:
        local, steps = self.recorder.local, self.steps
        probe = self

        def fit(self: object, *args: object, **kwargs: object) -> object:
            lane = local.lane
            if lane.fit is not None and lane.fit.get("joined"):
                left_fit(lane)
            outer, group = lane.fit, lane.group
            steps.leave_fast_path()
            lane.fit, lane.group = probe._begin(self, _Arguments(args, kwargs)), _group(self)
            try:
                return original(self, *args, **kwargs)
            finally:
                steps.leave_fast_path()
                lane.fit, lane.group = outer, group

        return fit

    def _join(self, lane: Lane) -> None:
        with self.fence:
            frame = _running_fit(sys._getframe())
            if frame is not None:
                names = dict(local_names(frame))
                given = {name: names.get(name) for name in ("x", "batch_size", "epochs")}
                model = names["self"]
                lane.fit = self._record_fit(model, _Arguments((), given), frame.f_back)
                lane.fit["joined"] = True
                lane.group = _group(model)

    def _begin(self, model: object, given: _Arguments) -> dict[str, Foreign]:
        """Which call of fit this is, by the user's line."""
        with self.fence:
            return self._record_fit(model, given, sys._getframe(1).f_back)
        return {"place": ("", 0, ""), "count": 0}

    def _record_fit(
        self, model: object, given: _Arguments, frame: FrameType | None
    ) -> dict[str, Foreign]:
        stack = self.recorder.stack(frame)
        place = tuple(stack[0]) if stack else ("", 0, "")
        known = self._fits.setdefault(place, {"place": place, "count": 0})
        known["count"] += 1
        data = type(given.data)
        optimizer = getattr(model, "optimizer", None)
        self.recorder.emit(
            Fit(
                key=str(place),
                stack=stack,
                model=id(model),
                data=data.__name__,
                module=data.__module__,
                batch_size=given.batch_size("fit"),
                epochs=plain(given.kwargs.get("epochs", 1)),
                optimizer=type(optimizer).__name__,
                run_eagerly=bool(getattr(model, "run_eagerly", False)),
                steps_per_execution=plain(getattr(model, "steps_per_execution", 1)),
                jit=bool(getattr(model, "jit_compile", False)),
                accumulation=plain(getattr(optimizer, "gradient_accumulation_steps", None)),
                step=self.steps.total,
            )
        )
        return known

    def _evaluate(self, name: str, original: Function) -> Function:
        local, open_span = self.recorder.local, self.recorder.open_span
        close = self.recorder.close_span
        probe = self

        def evaluate(self: object, *args: object, **kwargs: object) -> object:
            lane = local.lane
            if lane.within == _EVAL or lane.tracing or lane.busy:
                return original(self, *args, **kwargs)
            outer, lane.within = lane.within, _EVAL
            ran = lane.ran
            entry = open_span(lane, _EVAL)
            try:
                return original(self, *args, **kwargs)
            finally:
                took = close(lane, entry)
                lane.within = outer
                lane.evaluated += took
                frame = sys._getframe().f_back
                spent = _Spent(took, lane.ran - ran)
                probe._evaluated(frame, name, spent, _Arguments(args, kwargs))

        return evaluate

    def _evaluated(
        self, frame: FrameType | None, name: str, spent: _Spent, given: _Arguments
    ) -> None:
        lane = self.recorder.local.lane
        if frame is not None and self.recorder.user.owns(frame.f_code):
            self._record_prediction(frame, name, spent, given)
            if lane.fit is None:
                self.steps.repeated(lane, "predict", None, name, frame)
        elif lane.fit is not None and name == "evaluate":
            with self.fence:
                self._record_validation(frame, spent, given)

    def _record_validation(self, frame: FrameType | None, spent: _Spent, given: _Arguments) -> None:
        stack = self.recorder.stack(frame)
        fact = Validation(
            key=str(stack[:1]),
            took=spent.took,
            rows=attempted(0.0, _length, given.data),
            batch_size=given.batch_size("evaluate"),
            stack=stack,
        )
        self.recorder.emit(fact)

    def _record_prediction(
        self, frame: FrameType, name: str, spent: _Spent, given: _Arguments
    ) -> None:
        key = f"{name}@{frame.f_code.co_filename}:{frame.f_lineno}"
        if not self.recorder.wants(Prediction, key):
            self.recorder.count(Prediction, key, spent.took)
            return
        with self.fence:
            data = given.data
            fact = Prediction(
                key=key,
                took=spent.took,
                call=name,
                ran=spent.ran,
                rows=attempted(0.0, _length, data),
                data=type(data).__name__,
                batch_size=given.batch_size(name),
                in_fit=self.recorder.local.lane.fit is not None,
                stack=self.recorder.stack(frame),
                step=self.steps.total,
            )
            self.recorder.emit(fact)


def left_fit(lane: Lane) -> None:
    """The fit() that ran when the recording began has returned, unless it is still on the stack."""
    if _running_fit(sys._getframe()) is None:
        lane.fit, lane.group = None, 1


def _running_fit(frame: FrameType | None) -> FrameType | None:
    """The frame of Keras's own fit(), without a wrapper of ours."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if frame.f_code.co_name == "fit" and module.startswith(_KERAS):
            return frame
        frame = frame.f_back
    return None


class _Spent(NamedTuple):
    """Nanoseconds of a call, and those of them in which TensorFlow ran."""

    took: int
    ran: int


def _group(model: object) -> int:
    """How many updates one call of the train function makes."""
    together = plain(getattr(model, "steps_per_execution", 1))
    eager = bool(getattr(model, "run_eagerly", False))  # then each update is seen by itself
    if eager or not isinstance(together, int | float):
        return 1
    return max(1, int(together))


def plain(value: Foreign) -> Foreign:
    """Something that JSON can hold: the value itself, its number, or the name of its type."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    try:
        if hasattr(type(value), "dtype"):  # NumPy's, Keras's, TensorFlow's
            return float(value)
    except Exception:  # noqa: BLE001 - the fence of a probe: no number, for whatever reason
        pass
    return type(value).__name__


def _length(data: object) -> float:
    shape = getattr(data, "shape", None)
    return float(shape[0]) if shape is not None and len(shape) else 0.0
