"""Sees variables, slots, models, optimizers and metrics being made, at which line and how often."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import NamedTuple

from unslow.facts.memory import Built, Compile, Made, Model
from unslow.facts.phase import Phase
from unslow.facts.schema import Stack
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.frames import local_names
from unslow.record.engine.keras_classes import base_trainer
from unslow.record.engine.probe import Probe
from unslow.record.engine.recorder import Lane, clock

_BUILD = int(Phase.BUILD)
_MOST_PLACES = 1000
_MOST_SHAPES = 400
_BURST = 50_000_000  # things made within so many nanoseconds of each other are written as one


class _Total:
    """What is made at one of the user's lines."""

    __slots__ = ("alive", "amount", "count", "first", "stack", "took", "what", "written")

    def __init__(self, what: str, stack: Stack, first: int) -> None:
        self.what = what
        self.stack = stack
        self.first = first  # steps before the first one was made
        self.count = self.took = self.alive = self.written = 0
        self.amount = 0.0


class _Burst:
    """Things made in one go."""

    __slots__ = ("bytes", "count", "took", "tracing", "until", "what")

    def __init__(self, what: str, tracing: bool, until: int) -> None:
        self.what = what
        self.tracing = tracing
        self.until = until  # when the last one was made
        self.count = self.took = 0
        self.bytes = 0.0

    def takes(self, what: str, tracing: bool, now: int) -> bool:
        """Whether what is made now belongs to it."""
        return (self.what, self.tracing) == (what, tracing) and now - self.until <= _BURST


class _NewModel(NamedTuple):
    """A model that no step has used yet."""

    model: Foreign  # a weak reference
    number: int
    name: str
    stack: Stack
    made: int  # when


class Objects(Probe):
    name = "objects"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._places: dict[tuple[Foreign, ...], _Total] = {}
        self._kept: list[Foreign] = []  # code objects: an id must not be used again
        self._refs: dict[int, Foreign] = {}  # weak references live as long as what they watch
        self._new: list[_NewModel] = []
        self._numbers: dict[int, int] = {}  # id of a model → its number
        self._models = 0
        self._burst: _Burst | None = None
        self._slots = 0
        self.recorder.signals.tick.subscribe(self.name, self._write)
        self.recorder.signals.step.subscribe(self.name, self._stepped)

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        doors: dict[str, Callable[[ModuleType], None]] = {
            "tensorflow.python.ops.resource_variable_ops": self._on_variables,
            "tensorflow.python.eager.polymorphic_function.polymorphic_function": self._on_functions,
            "tensorflow.python.eager.context": self._on_context,
            "keras.src.trainers.trainer": lambda module: self._on_trainer(base_trainer(module)),
            "keras.src.optimizers.base_optimizer": lambda module: self._on_optimizer(
                module.BaseOptimizer
            ),
            "keras.src.metrics.metric": lambda module: self._on_metric(module.Metric),
        }
        for keras in ("keras", "tf_keras"):
            doors[f"{keras}.src.engine.training"] = lambda module: self._on_trainer(module.Model)
            doors[f"{keras}.src.optimizers.optimizer"] = self._on_keras_2_optimizer
            doors[f"{keras}.src.metrics.base_metric"] = lambda module: self._on_metric(
                module.Metric
            )
        return doors

    def _on_variables(self, module: ModuleType) -> None:
        self.replace(module.ResourceVariable, "__init__", self._variable)

    def _on_functions(self, module: ModuleType) -> None:
        """Variables made during a trace have a class of their own; seen on 2.15 to 2.21."""
        if hasattr(module, "UnliftedInitializerVariable"):
            self.replace(module.UnliftedInitializerVariable, "__init__", self._variable)

    def _on_context(self, module: ModuleType) -> None:
        self.replace(module.Context, "ensure_initialized", self._device)

    def _on_trainer(self, trainer: object) -> None:
        self.replace(trainer, "__init__", lambda original: self._init(original, "model"))
        self.replace(trainer, "compile", self._compile)

    def _on_optimizer(self, optimizer: object) -> None:
        self.replace(optimizer, "__init__", lambda original: self._init(original, "optimizer"))
        for name in (
            "build",
            "add_variable",
            "add_variable_from_reference",
            "add_optimizer_variables",
        ):
            # An optimizer's own build() makes its slots through these; Keras 2 has fewer.
            if hasattr(optimizer, name):
                self.replace(optimizer, name, self._slot)

    def _on_keras_2_optimizer(self, module: ModuleType) -> None:
        if hasattr(module, "_BaseOptimizer"):  # Keras 3 has a module of this name too, without it
            self._on_optimizer(module._BaseOptimizer)

    def _on_metric(self, metric: object) -> None:
        self.replace(metric, "__init__", lambda original: self._init(original, "metric"))

    def _device(self, original: Function) -> Function:
        probe = self

        def ensure_initialized(self: object) -> object:
            began = clock()
            try:
                return original(self)
            finally:
                # It is called before every op, and initializes once.
                probe.unwrap(type(self), "ensure_initialized")
                probe._part("device", clock() - began, 0.0)

        return ensure_initialized

    def _variable(self, original: Function) -> Function:
        local, open_span = self.recorder.local, self.recorder.open_span
        close = self.recorder.close_span
        probe = self

        def __init__(self: object, *args: object, **kwargs: object) -> None:
            lane = local.lane
            if lane.busy:
                original(self, *args, **kwargs)
                return
            if lane.tracing:
                began = clock()
                original(self, *args, **kwargs)
                probe._variable_made(self, clock() - began)
                return
            entry = open_span(lane, _BUILD)
            try:
                original(self, *args, **kwargs)
            finally:
                took = close(lane, entry)
            probe._variable_made(self, took)

        return __init__

    def _variable_made(self, variable: object, took: int) -> None:
        try:
            size = _bytes(variable)
            self._part("slots" if self._slots else "variables", took, size)
            self._note("variable", variable, took, size, sys._getframe(1).f_back)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _init(self, original: Function, what: str) -> Function:
        probe = self

        def __init__(self: object, *args: object, **kwargs: object) -> None:
            began = clock()
            original(self, *args, **kwargs)
            probe._made(what, self, clock() - began)

        return __init__

    def _made(self, what: str, thing: Foreign, took: int) -> None:
        try:
            if self.recorder.local.lane.busy:
                return
            made = self._note(what, thing, took, 0.0, sys._getframe(1).f_back)
            if what == "model" and made is not None:
                self._models += 1
                if len(self._numbers) > 5000:
                    self._numbers.clear()
                self._numbers[id(thing)] = self._models
                if len(self._new) < 64:
                    name, stack = type(thing).__name__, made.stack
                    model = _NewModel(weakref.ref(thing), self._models, name, stack, clock())
                    self._new.append(model)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _note(
        self, what: str, thing: object, took: int, size: float, frame: FrameType | None
    ) -> _Total | None:
        frames = (found for _, found in self.recorder.user.frames(frame))
        held = next((found for found in frames if not _makes_itself(found, thing)), None)
        if held is None:
            return None
        key = (what, id(held.f_code), held.f_lasti)
        made = self._places.get(key)
        if made is None:
            if len(self._places) >= _MOST_PLACES:
                return None
            self._kept.append(held.f_code)
            made = self._places[key] = _Total(what, self.recorder.stack(held), self.steps.total)
        made.count += 1
        made.took += took
        made.amount += size
        if self.steps.total:  # before the first step nothing has been made again yet
            made.alive += 1
            ref = weakref.ref(thing, lambda gone: self._gone(gone, made))
            self._refs[id(ref)] = ref
        return made

    def _gone(self, ref: object, made: _Total) -> None:
        self._refs.pop(id(ref), None)
        made.alive -= 1

    def _compile(self, original: Function) -> Function:
        probe = self

        def compile(self: object, *args: object, **kwargs: object) -> object:
            began = clock()
            result = original(self, *args, **kwargs)
            probe._compiled(self, clock() - began)
            return result

        return compile

    def _compiled(self, model: Foreign, took: int) -> None:
        try:
            made = self._note("compile", model, took, 0.0, sys._getframe(1).f_back)
            if made is not None:
                fact = Compile(
                    key=str(made.stack[:1]),
                    took=took,
                    model=self._numbers.get(id(model), 0),
                    stack=made.stack,
                    optimizer=type(getattr(model, "optimizer", None)).__name__,
                    step=self.steps.total,
                    weights=_number_of_weights(model),
                )
                self.recorder.emit(fact)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _slot(self, original: Function) -> Function:
        probe = self

        def make(self: object, *args: object, **kwargs: object) -> object:
            probe._slots += 1
            try:
                return original(self, *args, **kwargs)
            finally:
                probe._slots -= 1

        return make

    def _part(self, what: str, took: int, size: float) -> None:
        """Add up what is made in one go, for the table of the first step."""
        now, tracing = clock(), bool(self.recorder.local.lane.tracing)
        burst = self._burst
        if burst is None or not burst.takes(what, tracing, now):
            self._flush_burst()
            burst = self._burst = _Burst(what, tracing, now)
        burst.count += 1
        burst.took += took
        burst.bytes += size
        burst.until = now

    def _flush_burst(self) -> None:
        burst, self._burst = self._burst, None
        if burst is not None and self.recorder.wants(Built, burst.what):
            fact = Built(
                key=burst.what,
                took=burst.took,
                what=burst.what,
                count=burst.count,
                bytes=burst.bytes,
                tracing=burst.tracing,
                ago=clock() - burst.until,
                step=self.steps.total,
            )
            self.recorder.emit(fact)

    def _stepped(self, lane: Lane, total: int) -> None:
        """After a step: what models that were made before it look like."""
        self._flush_burst()
        if not self._new:
            return
        began = clock()
        new, self._new = self._new, []
        for made in new:
            lane.busy = True
            weights, optimizer = _described(made.model())
            lane.busy = False
            fact = Model(
                key=str(made.stack[:1]),
                model=made.number,
                name=made.name,
                weights=weights,
                optimizer=optimizer,
                step=total,
                ago=clock() - made.made,
                stack=made.stack,
            )
            self.recorder.emit(fact)
        self.recorder.keep_out(lane, clock() - began, self.name)

    def _write(self) -> None:
        """Running totals of each line, where they have changed by a tenth."""
        for made in list(self._places.values()):
            is_last = made.count != made.written and self.watcher.stopping
            if is_last or made.count >= made.written * 1.1 + 1:
                made.written = made.count
                fact = Made(
                    what=made.what,
                    count=made.count,
                    took=made.took,
                    amount=made.amount,
                    alive=made.alive,
                    first=made.first,
                    steps=self.steps.total,
                    stack=made.stack,
                )
                self.recorder.emit(fact)


def _makes_itself(frame: FrameType, thing: object) -> bool:
    """Whether a frame is the thing's own `__init__`: who calls it makes the thing."""
    code = frame.f_code
    if code.co_name != "__init__" or not code.co_argcount:
        return False
    return dict(local_names(frame)).get(code.co_varnames[0]) is thing


def _bytes(variable: object) -> float:
    size = float(getattr(getattr(variable, "dtype", None), "size", 4) or 4)
    for dimension in getattr(variable, "shape", ()) or ():
        size *= dimension or 1
    return size


def _number_of_weights(model: Foreign) -> int:
    """Keras 2 refuses to tell before the model has been built."""
    try:
        return len(model.weights)
    except ValueError:
        return 0


def _described(model: object) -> tuple[str, str]:
    """A model's weights and its optimizer's class; nothing where it cannot tell."""
    try:
        weights = _weights(model) if model is not None else ""
        return weights, type(getattr(model, "optimizer", None)).__name__
    except Exception:  # noqa: BLE001 - a model that cannot say what it holds is still a model
        return "", ""


def _weights(model: Foreign) -> str:
    """The shapes of a model's weights: two models with equal ones can stand in for each other."""
    shapes = [tuple(weight.shape) for weight in model.weights[:_MOST_SHAPES]]
    return f"{len(model.weights)}:{hash(tuple(shapes)) & 0xFFFFFFFFFFFF:x}"
