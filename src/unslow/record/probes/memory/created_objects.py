"""Sees variables, slots, models, optimizers and metrics being made, at which line and how often."""

from __future__ import annotations

import sys
import weakref
from functools import partial
from types import ModuleType
from typing import NamedTuple

from unslow.facts.memory import Compile, Model
from unslow.facts.phase import Phase
from unslow.facts.schema import Stack
from unslow.record.engine.fence import attempted
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.keras_classes import base_trainer
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.probes.memory.bursts import Bursts
from unslow.record.probes.memory.made_lines import MadeLines

_BUILD = int(Phase.BUILD)
_MOST_SHAPES = 400


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
        self._lines = MadeLines(self.recorder, self.steps)
        self._bursts = Bursts(self.recorder, self.steps)
        self._new: list[_NewModel] = []
        self._numbers: dict[int, int] = {}  # id of a model → its number
        self._models = 0
        self._slots = 0
        self.recorder.signals.tick.subscribe(self.name, self._ticked)
        self.recorder.signals.step.subscribe(self.name, self._stepped)

    def doors(self) -> Doors:
        metrics = self.wrapping({"Metric.__init__": partial(self._init, what="metric")})
        doors: Doors = {
            "tensorflow.python.ops.resource_variable_ops": self.wrapping(
                {"ResourceVariable.__init__": self._variable}
            ),
            "tensorflow.python.eager.polymorphic_function.polymorphic_function": self._on_functions,
            "tensorflow.python.eager.context": self.wrapping(
                {"Context.ensure_initialized": self._device}
            ),
            "keras.src.trainers.trainer": lambda module: self._on_trainer(base_trainer(module)),
            "keras.src.optimizers.base_optimizer": lambda module: self._on_optimizer(
                module.BaseOptimizer
            ),
            "keras.src.metrics.metric": metrics,
        }
        for keras in ("keras", "tf_keras"):
            doors[f"{keras}.src.engine.training"] = lambda module: self._on_trainer(module.Model)
            doors[f"{keras}.src.optimizers.optimizer"] = self._on_keras_2_optimizer
            doors[f"{keras}.src.metrics.base_metric"] = metrics
        return doors

    def _on_functions(self, module: ModuleType) -> None:
        """Variables made during a trace have a class of their own; seen on 2.15 to 2.21."""
        if hasattr(module, "UnliftedInitializerVariable"):
            self.replace(module.UnliftedInitializerVariable, "__init__", self._variable)

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

    def _device(self, original: Function) -> Function:
        probe = self

        def ensure_initialized(self: object) -> object:
            began = clock()
            try:
                return original(self)
            finally:
                # It is called before every op, and initializes once.
                probe.unwrap(type(self), "ensure_initialized")
                probe._bursts.add("device", clock() - began, 0.0)

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
        with self.fence:
            size = _bytes(variable)
            self._bursts.add("slots" if self._slots else "variables", took, size)
            self._lines.add("variable", variable, took, size, sys._getframe(1).f_back)

    def _init(self, original: Function, what: str) -> Function:
        probe = self

        def __init__(self: object, *args: object, **kwargs: object) -> None:
            began = clock()
            original(self, *args, **kwargs)
            probe._made(what, self, clock() - began)

        return __init__

    def _made(self, what: str, thing: Foreign, took: int) -> None:
        with self.fence:
            if self.recorder.local.lane.busy:
                return
            frame = sys._getframe(1).f_back
            made = self._lines.add(what, thing, took, 0.0, frame)
            if what == "model" and made is not None:
                self._models += 1
                if len(self._numbers) > 5000:
                    self._numbers.clear()
                self._numbers[id(thing)] = self._models
                if len(self._new) < 64:
                    # The line has the stack of its first model, made before the loop perhaps.
                    name, stack = type(thing).__name__, self.recorder.stack(frame)
                    model = _NewModel(weakref.ref(thing), self._models, name, stack, clock())
                    self._new.append(model)

    def _compile(self, original: Function) -> Function:
        probe = self

        def compile(self: object, *args: object, **kwargs: object) -> object:
            began = clock()
            result = original(self, *args, **kwargs)
            probe._compiled(self, clock() - began)
            return result

        return compile

    def _compiled(self, model: Foreign, took: int) -> None:
        with self.fence:
            frame = sys._getframe(1).f_back
            made = self._lines.add("compile", model, took, 0.0, frame)
            if made is not None:
                fact = Compile(
                    key=str(made.stack[:1]),
                    took=took,
                    model=self._numbers.get(id(model), 0),
                    stack=self.recorder.stack(frame),
                    optimizer=type(getattr(model, "optimizer", None)).__name__,
                    step=self.steps.total,
                    weights=_number_of_weights(model),
                )
                self.recorder.emit(fact)

    def _slot(self, original: Function) -> Function:
        probe = self

        def make(self: object, *args: object, **kwargs: object) -> object:
            probe._slots += 1
            try:
                return original(self, *args, **kwargs)
            finally:
                probe._slots -= 1

        return make

    def _ticked(self) -> None:
        self._lines.write(is_last=self.watcher.stopping)

    def _stepped(self, lane: Lane, total: int) -> None:
        """After a step: what models that were made before it look like."""
        self._bursts.flush()
        if not self._new:
            return
        began = clock()
        new, self._new = self._new, []
        for made in new:
            lane.busy = True
            weights, optimizer = attempted(("", ""), _described, made.model())
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
    """A model's weights and its optimizer's class."""
    weights = _weights(model) if model is not None else ""
    return weights, type(getattr(model, "optimizer", None)).__name__


def _weights(model: Foreign) -> str:
    """The shapes of a model's weights: two models with equal ones can stand in for each other."""
    shapes = [tuple(weight.shape) for weight in model.weights[:_MOST_SHAPES]]
    return f"{len(model.weights)}:{hash(tuple(shapes)) & 0xFFFFFFFFFFFF:x}"
