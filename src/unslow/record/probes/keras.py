"""Sees Keras's own loop: fit, evaluate, predict, and each hook of each callback; Keras 2 and 3."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from unslow.phase import Phase
from unslow.record.probe import WRAPPERS, Probe, span
from unslow.record.recorder import Lane, clock

_EVAL, _HOOKS, _BUILD = int(Phase.EVAL), int(Phase.HOOKS), int(Phase.BUILD)
# What a callback spends on these is a matter of its own, and so is not the callback's.
_NOT_THE_HOOKS = (int(Phase.SAVE), int(Phase.LOG), int(Phase.SYNC))
_HOOK_NAMES = (
    "on_train_batch_begin", "on_train_batch_end", "on_epoch_begin", "on_epoch_end", "on_test_batch_begin",
    "on_test_batch_end", "on_test_begin", "on_test_end", "on_train_begin", "on_train_end",
    "on_batch_begin", "on_batch_end",
)  # fmt: skip
_MOST_INSTANCES = 200


class Keras(Probe):
    name = "keras"

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._fits: dict[Any, dict[str, Any]] = {}
        self._hooked: set[tuple[type, str]] = set()
        self._lists: set[type] = set()  # the class is seen through two modules in Keras 3
        self._instances: list[Any] = []
        self._owned: dict[str, int] = {}
        self._evaluated: dict[int, int] = {}  # nanoseconds in evaluate and predict, by thread

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
            self.replace(trainer, name, self._named(self._evaluate, name))

    def _on_callbacks(self, module: ModuleType) -> None:
        if not hasattr(module, "CallbackList") or module.CallbackList in self._lists:
            return
        self._lists.add(module.CallbackList)
        self.replace(module.CallbackList, "on_train_begin", self._train_begins)
        self.replace(module.CallbackList, "on_epoch_end", self._epoch_ends)
        self.replace(module.CallbackList, "on_train_batch_end", self._batch_ends)
        # Each callback's own hooks are timed as well; what the list itself does before a batch is next to nothing.
        for name in ("on_epoch_begin", "on_test_batch_begin", "on_test_batch_end"):
            self.spanned(module.CallbackList, name, _HOOKS)

    @staticmethod
    def _named(make: Callable[[Callable[..., Any], str], Any], name: str) -> Callable[[Any], Any]:
        return lambda original: make(original, name)

    def _fit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local, steps = self.recorder.local, self.steps
        probe = self

        def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
            lane = local.lane
            outer, group = lane.fit, lane.group
            steps.end_streak()
            lane.fit, lane.group = probe._begin(self, args, kwargs), _group(self)
            try:
                return original(self, *args, **kwargs)
            finally:
                steps.end_streak()
                lane.fit, lane.group = outer, group

        return fit

    def _begin(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Which call of fit this is, told by the user's line."""
        try:
            return self._noted(model, args, kwargs)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")
            return {"place": ("", 0, ""), "count": 0}

    def _noted(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        stack = self.recorder.stack(sys._getframe(3))
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
        probe = self

        def evaluate(self: Any, *args: Any, **kwargs: Any) -> Any:
            lane = local.lane
            if lane.within == _EVAL or lane.tracing or lane.busy:
                return original(self, *args, **kwargs)
            outer, lane.within = lane.within, _EVAL
            ran = lane.ran
            entry = [_EVAL, clock(), 0]
            lane.stack.append(entry)
            try:
                return original(self, *args, **kwargs)
            finally:
                took = close(lane, entry)
                lane.within = outer
                probe._evaluated[lane.thread] = probe._evaluated.get(lane.thread, 0) + took
                data = args[0] if args else kwargs.get("x")
                frame = sys._getframe(1)
                tally("evaluate", frame, took, _length(data), call=name, in_fit=lane.fit is not None)
                if probe.recorder.user.owns(frame.f_code):
                    probe._called(lane, frame, name, took, lane.ran - ran, data, args, kwargs)
                    if lane.fit is None:
                        probe.steps.repeated(lane, "predict", None, name, frame)

        return evaluate

    def _called(self, lane: Lane, frame: Any, name: str, took: int, ran: int, data: Any, args: tuple[Any, ...],
                kwargs: dict[str, Any]) -> None:  # fmt: skip
        """One call of predict and the like by the user's own line: what it took, and how much of that was the model."""
        key = f"{name}@{frame.f_code.co_filename}:{frame.f_lineno}"
        if not self.recorder.wants("prediction", key):
            self.recorder.fact("prediction", key, took)
            return
        batch = kwargs.get("batch_size", args[1] if name == "predict" and len(args) > 1 else None)
        self.recorder.fact(
            "prediction", key, took, call=name, ran_ns=ran, rows=_length(data),
            data=type(data).__name__, batch_size=_plain(batch), in_fit=lane.fit is not None,
            stack=self.recorder.stack(frame), step=self.steps.total,
        )  # fmt: skip

    def _train_begins(self, original: Callable[..., Any]) -> Callable[..., Any]:
        probe = self
        spanned = span(self.recorder, original, _HOOKS)

        def on_train_begin(self: Any, *args: Any, **kwargs: Any) -> Any:
            for callback in getattr(self, "callbacks", ()):
                probe._hook_all(callback)
            return spanned(self, *args, **kwargs)

        return on_train_begin

    def _hook_all(self, callback: Any) -> None:
        try:
            self._hook(type(callback))
            self._hook_instance(callback)
        except Exception:  # noqa: BLE001 - the fence of a probe: a class that lets nobody change it is left alone
            return

    def _hook(self, kind: type) -> None:
        """Time each hook that a callback's class really has; inherited empty ones are left alone."""
        for name in _HOOK_NAMES:
            owner = next((base for base in kind.__mro__ if name in vars(base)), None)
            if owner is None or owner.__name__ in ("Callback", "CallbackList") or (owner, name) in self._hooked:
                continue
            if not isinstance(vars(owner)[name], FunctionType):  # what else can be called is not always given `self`
                continue
            self._hooked.add((owner, name))
            self.replace(owner, name, self._named(self._timed_hook, name))
            _shown_as_ours(vars(owner)[name])

    def _hook_instance(self, callback: Any) -> None:
        """A LambdaCallback holds its hooks as attributes of its own."""
        for name in _HOOK_NAMES:
            hook = getattr(callback, "__dict__", {}).get(name)
            if isinstance(hook, FunctionType) and len(self._instances) < _MOST_INSTANCES:
                self._instances.append(callback)  # kept, so that its id is not used again
                self.replace(callback, name, self._named(self._timed_lambda, name))
                _shown_as_ours(vars(callback)[name])

    def _timed_hook(self, original: Callable[..., Any], name: str) -> Callable[..., Any]:
        timed = self._timed

        def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
            return timed(type(self), name, original, (self, *args), kwargs)

        return hook

    def _timed_lambda(self, original: Callable[..., Any], name: str) -> Callable[..., Any]:
        kind = type("LambdaCallback", (), {"__module__": "keras"})
        timed = self._timed

        def hook(*args: Any, **kwargs: Any) -> Any:
            return timed(kind, name, original, args, kwargs)

        return hook

    def _timed(self, kind: type, name: str, original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        lane = self.recorder.local.lane
        if lane.busy:
            return original(*args, **kwargs)
        phases = lane.phases
        apart = sum(phases[phase] for phase in _NOT_THE_HOOKS)
        evaluated = self._evaluated.get(lane.thread, 0)
        entry = [_HOOKS, clock(), 0]
        lane.stack.append(entry)
        try:
            return original(*args, **kwargs)
        finally:
            took = self.recorder.close_span(lane, entry)
            if lane.phases is phases:
                apart = sum(phases[phase] for phase in _NOT_THE_HOOKS) - apart
            apart += self._evaluated.get(lane.thread, 0) - evaluated
            try:
                self._hooked_once(lane, kind, name, original, took, max(0, took - apart))
            except Exception as problem:  # noqa: BLE001 - the fence of a probe
                self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _hooked_once(self, lane: Lane, kind: type, name: str, original: Any, took: int, own: int) -> None:
        code: Any = getattr(original, "__code__", None)
        users = code is not None and self.recorder.user.owns(code)
        key = f"{kind.__module__}.{kind.__qualname__}.{name}"
        if users and kind.__module__ == "keras":  # a lambda: told apart by where it stands
            key += f"@{code.co_filename}:{code.co_firstlineno}"
        owned = self._owned[key] = self._owned.get(key, 0) + own
        if not self.recorder.wants("hook", key):
            self.recorder.fact("hook", key, took)
            return
        if users:
            self.recorder.keep_source(code.co_filename)
        self.recorder.fact(
            "hook", key, took, hook=name, step=self.steps.total, callback=kind.__qualname__, module=kind.__module__,
            own_ns=own, own_sum_ns=owned, users=users, on_thread=lane.fit is not None,
            place=[code.co_filename, code.co_firstlineno, code.co_name] if code is not None else None,
        )  # fmt: skip

    def _epoch_ends(self, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder, steps = self.recorder, self.steps
        spanned = span(recorder, original, _HOOKS)

        def on_epoch_end(self: Any, epoch: Any, logs: Any = None) -> Any:
            logged = list(logs.items())[:20] if type(logs) is dict else []
            values = {key: _plain(value) for key, value in logged if type(key) is str}
            recorder.fact("epoch", "", epoch=_plain(epoch), step=steps.total, logs=values)
            return spanned(self, epoch, logs)

        return on_epoch_end

    def _batch_ends(self, original: Callable[..., Any]) -> Callable[..., Any]:
        local, close = self.recorder.local, self.recorder.close_span

        def on_train_batch_end(self: Any, batch: Any, logs: Any = None) -> Any:
            lane = local.lane
            if lane.tracing or lane.busy:
                return original(self, batch, logs)
            loss = logs.get("loss") if isinstance(logs, dict) else None
            if isinstance(loss, float):
                lane.value = loss
            entry = [_HOOKS, clock(), 0]
            lane.stack.append(entry)
            try:
                return original(self, batch, logs)
            finally:
                close(lane, entry)

        return on_train_batch_end


def _group(model: Any) -> int:
    """How many updates one call of the train function makes."""
    together = _plain(getattr(model, "steps_per_execution", 1))
    eager = bool(getattr(model, "run_eagerly", False))  # then each update is seen by itself
    return int(together) if isinstance(together, int | float) and together >= 1 and not eager else 1


def _shown_as_ours(wrapper: Any) -> None:
    """A wrapper around the user's own code must not look like a line of theirs."""
    if hasattr(wrapper, "__code__"):
        wrapper.__code__ = wrapper.__code__.replace(co_filename=__file__)
        WRAPPERS.add(wrapper.__code__)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    try:
        return float(value) if hasattr(type(value), "dtype") else type(value).__name__  # NumPy's, Keras's, TensorFlow's
    except Exception:  # noqa: BLE001 - the fence of a probe: no number, for whatever reason
        return type(value).__name__


def _length(data: Any) -> float:
    try:
        shape = getattr(data, "shape", None)
        return float(shape[0]) if shape is not None and len(shape) else 0.0
    except Exception:  # noqa: BLE001 - the fence of a probe: data of the program's own kind
        return 0.0
