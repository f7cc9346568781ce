"""Sees each hook of each callback of Keras's own loop, and what the loop logs; Keras 2 and 3."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import NamedTuple

from unslow.facts.keras import Epoch, Hook
from unslow.facts.phase import Phase
from unslow.facts.schema import Place
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.live_objects import Living
from unslow.record.engine.own_attributes import attribute
from unslow.record.engine.probe import WRAPPERS, Doors, Probe, span
from unslow.record.engine.recorder import Lane
from unslow.record.probes.keras.fit import plain

_HOOKS = int(Phase.HOOKS)
# What a callback spends on these is a matter of its own, and so is not the callback's.
_NOT_THE_HOOKS = (int(Phase.SAVE), int(Phase.LOG), int(Phase.SYNC))
_HOOK_NAMES = (
    "on_train_batch_begin",
    "on_train_batch_end",
    "on_epoch_begin",
    "on_epoch_end",
    "on_test_batch_begin",
    "on_test_batch_end",
    "on_test_begin",
    "on_test_end",
    "on_train_begin",
    "on_train_end",
    "on_batch_begin",
    "on_batch_end",
)
_EMPTY = ("Callback", "CallbackList")  # classes whose hooks do nothing of their own
_MOST_INSTANCES = 200


class _Hooked(NamedTuple):
    """A hook of a callback that is timed."""

    kind: type
    name: str
    original: Function


class Hooks(Probe):
    name = "keras"  # one probe with fit: a report on fit without its callbacks would mislead

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._hooked: set[tuple[type, str]] = set()
        self._lists: set[type] = set()  # the class is seen through two modules in Keras 3
        self._instances: list[Foreign] = []
        self._owned: dict[str, int] = {}

    def doors(self) -> Doors:
        places = (
            "keras.src.callbacks.callback_list",
            "keras.src.callbacks",
            "tf_keras.src.callbacks",
        )
        return dict.fromkeys(places, self._on_callbacks)

    def _on_callbacks(self, module: ModuleType) -> None:
        if not hasattr(module, "CallbackList") or module.CallbackList in self._lists:
            return
        self._lists.add(module.CallbackList)
        self.replace(module.CallbackList, "on_train_begin", self._train_begins)
        self.replace(module.CallbackList, "on_epoch_end", self._epoch_ends)
        self.replace(module.CallbackList, "on_train_batch_end", self._batch_ends)
        # Each callback's own hooks are timed as well; the list itself does next to nothing.
        for name in ("on_epoch_begin", "on_test_batch_begin", "on_test_batch_end"):
            self.spanned(module.CallbackList, name, _HOOKS)

    def inherit(self, living: Living) -> None:
        """Callbacks of a fit() that is under way: its on_train_begin is over."""
        for callbacks in living.callback_lists:
            for callback in getattr(callbacks, "callbacks", ()):
                self._hook_all(callback)
        for kind in self._lists:
            self.replace(kind, "on_train_end", self._train_ends)

    def _train_ends(self, original: Function) -> Function:
        """The fit() that was under way when the recording began has no wrapper of ours around
        it."""
        local = self.recorder.local

        def on_train_end(self: object, *args: object, **kwargs: object) -> object:
            result = original(self, *args, **kwargs)
            lane = local.lane
            if lane.fit is not None and lane.fit.get("joined"):
                lane.fit, lane.group = None, 1
            return result

        return on_train_end

    def _train_begins(self, original: Function) -> Function:
        probe = self
        spanned = span(self.recorder, original, _HOOKS)

        def on_train_begin(self: object, *args: object, **kwargs: object) -> object:
            for callback in getattr(self, "callbacks", ()):
                probe._hook_all(callback)
            return spanned(self, *args, **kwargs)

        return on_train_begin

    def _hook_all(self, callback: object) -> None:
        with suppress(Exception):  # a class that cannot be changed is left alone
            self._hook(type(callback))
            self._hook_instance(callback)

    def _hook(self, kind: type) -> None:
        """Time each hook that a callback's class really has, not the empty ones it inherits."""
        for name in _HOOK_NAMES:
            owner = next((base for base in kind.__mro__ if name in vars(base)), None)
            if owner is None or owner.__name__ in _EMPTY or (owner, name) in self._hooked:
                continue
            if isinstance(vars(owner)[name], FunctionType):  # others may not be given `self`
                self._hooked.add((owner, name))
                self.replace(owner, name, partial(self._timed_hook, name))
                _shown_as_ours(vars(owner)[name])

    def _hook_instance(self, callback: object) -> None:
        """A LambdaCallback holds its hooks as attributes of its own."""
        for name in _HOOK_NAMES:
            hook = attribute(callback, name)
            if isinstance(hook, FunctionType) and len(self._instances) < _MOST_INSTANCES:
                self._instances.append(callback)  # kept, so that its id is not used again
                self.replace(callback, name, partial(self._timed_lambda, name))
                _shown_as_ours(attribute(callback, name))

    def _timed_hook(self, name: str, original: Function) -> Function:
        timed = self._timed

        def hook(self: object, *args: object, **kwargs: object) -> object:
            return timed(_Hooked(type(self), name, original), (self, *args), kwargs)

        return hook

    def _timed_lambda(self, name: str, original: Function) -> Function:
        kind = type("LambdaCallback", (), {"__module__": "keras"})
        hooked = _Hooked(kind, name, original)
        timed = self._timed

        def hook(*args: object, **kwargs: object) -> object:
            return timed(hooked, args, kwargs)

        return hook

    def _timed(
        self, hooked: _Hooked, args: tuple[Foreign, ...], kwargs: dict[str, Foreign]
    ) -> Foreign:
        lane = self.recorder.local.lane
        if lane.busy:
            return hooked.original(*args, **kwargs)
        phases = lane.phases
        apart = sum(phases[phase] for phase in _NOT_THE_HOOKS)
        evaluated = lane.evaluated
        entry = self.recorder.open_span(lane, _HOOKS)
        try:
            return hooked.original(*args, **kwargs)
        finally:
            took = self.recorder.close_span(lane, entry)
            if lane.phases is phases:
                apart = sum(phases[phase] for phase in _NOT_THE_HOOKS) - apart
            apart += lane.evaluated - evaluated
            try:
                self._record_hook(lane, hooked, took, max(0, took - apart))
            except Exception as problem:  # noqa: BLE001 - the fence of a probe
                self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _record_hook(self, lane: Lane, hooked: _Hooked, took: int, own: int) -> None:
        kind, name = hooked.kind, hooked.name
        code: CodeType | None = getattr(hooked.original, "__code__", None)
        users = code is not None and self.recorder.user.owns(code)
        key = f"{kind.__module__}.{kind.__qualname__}.{name}"
        if code is not None and users and kind.__module__ == "keras":
            key += f"@{code.co_filename}:{code.co_firstlineno}"  # which of several lambdas
        owned = self._owned[key] = self._owned.get(key, 0) + own
        if not self.recorder.wants(Hook, key):
            self.recorder.count(Hook, key, took)
            return
        place = Place(code.co_filename, code.co_firstlineno, code.co_name) if code else None
        if users and place is not None:
            self.recorder.keep_source(place.file)
        self.recorder.emit(
            Hook(
                key=key,
                took=took,
                hook=name,
                step=self.steps.total,
                callback=kind.__qualname__,
                module=kind.__module__,
                own=own,
                own_sum=owned,
                users=users,
                on_thread=lane.fit is not None,
                place=place,
            )
        )

    def _epoch_ends(self, original: Function) -> Function:
        recorder, steps = self.recorder, self.steps
        spanned = span(recorder, original, _HOOKS)

        def on_epoch_end(self: object, epoch: object, logs: Foreign = None) -> object:
            logged = list(logs.items())[:20] if type(logs) is dict else []
            values = {key: plain(value) for key, value in logged if type(key) is str}
            recorder.emit(Epoch(epoch=plain(epoch), step=steps.total, logs=values))
            return spanned(self, epoch, logs)

        return on_epoch_end

    def _batch_ends(self, original: Function) -> Function:
        local, open_span = self.recorder.local, self.recorder.open_span
        close = self.recorder.close_span

        def on_train_batch_end(self: object, batch: object, logs: Foreign = None) -> object:
            lane = local.lane
            if lane.tracing or lane.busy:
                return original(self, batch, logs)
            loss = logs.get("loss") if isinstance(logs, dict) else None
            if isinstance(loss, float):
                lane.value = loss
            entry = open_span(lane, _HOOKS)
            try:
                return original(self, batch, logs)
            finally:
                close(lane, entry)

        return on_train_batch_end


def _shown_as_ours(wrapper: Foreign) -> None:
    """A wrapper around the user's own code must not look like a line of theirs."""
    if hasattr(wrapper, "__code__"):
        wrapper.__code__ = wrapper.__code__.replace(co_filename=__file__)
        WRAPPERS.add(wrapper.__code__)
