"""Sees Keras's own loop: fit, evaluate, predict, and each hook of each callback; Keras 2 and 3."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from unslow.model import Phase
from unslow.record.probe import Probe, span
from unslow.record.recorder import Lane, clock

_EVAL, _HOOKS, _BUILD = int(Phase.EVAL), int(Phase.HOOKS), int(Phase.BUILD)
_HOOK_NAMES = (
    "on_train_batch_begin", "on_train_batch_end", "on_epoch_begin", "on_epoch_end", "on_test_batch_begin",
    "on_test_batch_end", "on_test_begin", "on_test_end", "on_train_begin", "on_train_end",
)  # fmt: skip


class Keras(Probe):
    name = "keras"

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._fits: dict[Any, dict[str, Any]] = {}
        self._hooked: set[tuple[type, str]] = set()

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        doors: dict[str, Callable[[ModuleType], None]] = {
            "keras.src.backend.tensorflow.trainer": lambda module: self._on_trainer(module.TensorFlowTrainer),
            "keras.src.callbacks.callback_list": self._on_callbacks,
            "keras.src.trainers.trainer": lambda module: self.spanned(module.Trainer, "compile", _BUILD),
        }
        for keras in ("keras", "tf_keras"):
            doors[f"{keras}.src.engine.training"] = self._on_keras_2
            doors[f"{keras}.src.callbacks"] = self._on_callbacks
        return doors

    def _on_keras_2(self, module: ModuleType) -> None:
        self._on_trainer(module.Model)
        self.spanned(module.Model, "compile", _BUILD)

    def _on_trainer(self, trainer: Any) -> None:
        self.replace(trainer, "fit", self._fit)
        for name in ("evaluate", "predict", "test_on_batch", "predict_on_batch"):
            self.replace(trainer, name, lambda original, name=name: self._evaluate(original, name))

    def _on_callbacks(self, module: ModuleType) -> None:
        if not hasattr(module, "CallbackList"):
            return
        self.replace(module.CallbackList, "on_train_begin", self._train_begins)
        self.replace(module.CallbackList, "on_epoch_end", self._epoch_ends)
        self.replace(module.CallbackList, "on_train_batch_end", self._batch_ends)
        for name in ("on_train_batch_begin", "on_epoch_begin", "on_test_batch_begin", "on_test_batch_end"):
            self.spanned(module.CallbackList, name, _HOOKS)

    def _fit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local = self.recorder.local
        probe = self

        def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
            lane = local.lane
            outer, lane.fit = lane.fit, probe._begin(self, args, kwargs)
            try:
                return original(self, *args, **kwargs)
            finally:
                lane.fit = outer

        return fit

    def _begin(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Which call of fit this is, told by the user's line."""
        stack = self.recorder.stack(sys._getframe(2))
        place = tuple(stack[0]) if stack else ("", 0, "")
        known = self._fits.setdefault(place, {"place": place, "count": 0})
        known["count"] += 1
        data = args[0] if args else kwargs.get("x")
        optimizer = getattr(model, "optimizer", None)
        self.recorder.fact(
            "fit", str(place), stack=stack, model=id(model), data=type(data).__name__,
            module=type(data).__module__, batch_size=_plain(kwargs.get("batch_size")),
            epochs=_plain(kwargs.get("epochs", 1)), optimizer=type(optimizer).__name__,
            run_eagerly=bool(getattr(model, "run_eagerly", False)),
            steps_per_execution=_plain(getattr(model, "steps_per_execution", 1)),
            jit=bool(getattr(model, "jit_compile", False)),
            accumulation=_plain(getattr(optimizer, "gradient_accumulation_steps", None)),
            step=self.steps.total,
        )  # fmt: skip
        return known

    def _evaluate(self, original: Callable[..., Any], name: str) -> Callable[..., Any]:
        local, close, tally = self.recorder.local, self.recorder.close_span, self.recorder.tally

        def evaluate(self: Any, *args: Any, **kwargs: Any) -> Any:
            lane = local.lane
            if lane.within == _EVAL or lane.tracing or lane.busy:
                return original(self, *args, **kwargs)
            outer, lane.within = lane.within, _EVAL
            entry = [_EVAL, clock(), 0]
            lane.stack.append(entry)
            try:
                return original(self, *args, **kwargs)
            finally:
                took = close(lane, entry)
                lane.within = outer
                data = args[0] if args else kwargs.get("x")
                tally("evaluate", sys._getframe(1), took, _length(data), call=name, in_fit=lane.fit is not None)

        return evaluate

    def _train_begins(self, original: Callable[..., Any]) -> Callable[..., Any]:
        probe = self
        spanned = span(self.recorder, original, _HOOKS)

        def on_train_begin(self: Any, *args: Any, **kwargs: Any) -> Any:
            for callback in getattr(self, "callbacks", ()):
                probe._hook(type(callback))
            return spanned(self, *args, **kwargs)

        return on_train_begin

    def _hook(self, kind: type) -> None:
        """Time each hook that a callback's class really has; inherited empty ones are left alone."""
        for name in _HOOK_NAMES:
            owner = next((base for base in kind.__mro__ if name in vars(base)), None)
            if owner is None or owner.__name__ in ("Callback", "CallbackList") or (owner, name) in self._hooked:
                continue
            self._hooked.add((owner, name))
            self.replace(owner, name, lambda original, name=name: self._timed_hook(original, name))

    def _timed_hook(self, original: Callable[..., Any], name: str) -> Callable[..., Any]:
        recorder, steps = self.recorder, self.steps
        local, close = recorder.local, recorder.close_span

        def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
            lane = local.lane
            entry = [_HOOKS, clock(), 0]
            lane.stack.append(entry)
            try:
                return original(self, *args, **kwargs)
            finally:
                took = close(lane, entry)
                kind = type(self)
                recorder.fact(
                    "hook", f"{kind.__module__}.{kind.__qualname__}.{name}", took, hook=name, step=steps.total,
                    callback=kind.__qualname__, module=kind.__module__,
                    place=[original.__code__.co_filename, original.__code__.co_firstlineno, name]
                    if hasattr(original, "__code__") else None,
                )  # fmt: skip

        return hook

    def _epoch_ends(self, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder, steps = self.recorder, self.steps
        spanned = span(recorder, original, _HOOKS)

        def on_epoch_end(self: Any, epoch: Any, logs: Any = None) -> Any:
            values = {str(key): _plain(value) for key, value in list((logs or {}).items())[:20]}
            recorder.fact("epoch", "", epoch=_plain(epoch), step=steps.total, logs=values)
            return spanned(self, epoch, logs)

        return on_epoch_end

    def _batch_ends(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local = self.recorder.local
        spanned = span(self.recorder, original, _HOOKS)

        def on_train_batch_end(self: Any, batch: Any, logs: Any = None) -> Any:
            _note_loss(local.lane, logs)
            return spanned(self, batch, logs)

        return on_train_batch_end


def _note_loss(lane: Lane, logs: Any) -> None:
    loss = logs.get("loss") if isinstance(logs, dict) else None
    if isinstance(loss, float):
        lane.value = loss


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return type(value).__name__


def _length(data: Any) -> float:
    shape = getattr(data, "shape", None)
    try:
        return float(shape[0]) if shape is not None and len(shape) else 0.0
    except (TypeError, ValueError):
        return 0.0
