"""Sees what an eager step is made of: gradients, weight updates outside any graph, and single
ops."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from types import ModuleType

from unslow.facts.phase import Phase
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.own_attributes import attribute
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane
from unslow.record.engine.weak_table import WeakTable
from unslow.record.probes.eager.op_timing import OpWindow, Past

_RUN = int(Phase.RUN)
_ASSIGNS = "assign", "assign_add", "assign_sub"


class Eager(Probe):
    name = "eager"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._executing: Callable[[], bool] = lambda: False
        self._ops: ModuleType | None = None
        self._tape: Foreign = None
        self._window: OpWindow | None = None
        self._sources: dict[
            int, Foreign
        ] = {}  # by their ids: what gradients were taken for, as long as it lives
        self._weights: WeakTable[bool] = WeakTable()  # variables that a gradient was taken for
        self._updates: list[str] = []  # one for each update that is under way, in any thread
        self._past: Past = {}
        self.recorder.signals.step.subscribe(self.name, self._look)

    def doors(self) -> Doors:
        doors: Doors = {
            "tensorflow.python.eager.backprop": self._on_backprop,
            "tensorflow.python.training.optimizer": self.wrapping(
                {"Optimizer.apply_gradients": self._apply}
            ),
            "tensorflow.python.eager.context": self._on_context,
            "tensorflow": self._on_tensorflow,
            "tensorflow.python.pywrap_tfe": self._on_ops,
            "keras.src.optimizers.base_optimizer": self.wrapping(
                {"BaseOptimizer.apply": self._apply}
            ),
        }
        legacy = self.wrapping({"OptimizerV2.apply_gradients": self._apply})
        for keras in ("keras", "tf_keras"):
            doors[f"{keras}.src.optimizers.optimizer"] = self._on_keras_2
            doors[f"{keras}.src.optimizers.legacy.optimizer_v2"] = legacy
        return doors

    def _on_context(self, module: ModuleType) -> None:
        self._executing = module.executing_eagerly

    def _on_ops(self, module: ModuleType) -> None:
        self._ops = module

    def _on_backprop(self, module: ModuleType) -> None:
        self.replace(module.GradientTape, "gradient", self._gradient)
        self._tape = module.GradientTape
        self.spanned(module.GradientTape, "jacobian", _RUN)

    def _on_tensorflow(self, module: ModuleType) -> None:
        """Only when all is there: TensorFlow gives ResourceVariable wrapped copies of the base
        class's methods."""
        variables = sys.modules["tensorflow.python.ops.resource_variable_ops"]
        for owner in (variables.BaseResourceVariable, variables.ResourceVariable):
            for name in _ASSIGNS:
                if name in vars(owner):
                    self.replace(owner, name, self._assign)

    def _on_keras_2(self, module: ModuleType) -> None:
        if hasattr(module, "_BaseOptimizer"):  # Keras 3 has a module of this name too, without it
            self.replace(module.Optimizer, "apply_gradients", self._apply)

    def _enter(self, original: Function) -> Function:
        probe = self

        def __enter__(self: object) -> object:
            if probe._window is not None:
                probe._window.enter_tape(sys._getframe().f_back)
            return original(self)

        return __enter__

    def _meet(self, sources: object) -> None:
        """Gradients are taken for these: those that are variables are weights."""
        try:
            for source in _flat(sources):
                # All variables can be referred to weakly.
                if id(source) in self._sources or not hasattr(source, "__weakref__"):
                    continue
                variable = attribute(source, "_value", source)  # of Keras 3: TensorFlow's own
                # A strategy's variable: what is assigned to is the component of each replica.
                for weight in (variable, *_components(variable)):
                    if hasattr(weight, "__weakref__"):
                        self._weights.put(weight, True)
                if self.recorder.is_trial:
                    self.recorder.kept_weights[id(variable)] = variable
                gone = functools.partial(self._sources.pop, id(source))
                self._sources[id(source)] = weakref.ref(source, gone)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _gradient(self, original: Function) -> Function:
        local, open_span = self.recorder.local, self.recorder.open_span
        close = self.recorder.close_span
        known, meet = self._sources, self._meet

        def gradient(
            self: object, target: object, sources: Foreign, *args: object, **kwargs: object
        ) -> object:
            lane = local.lane
            is_list = sources.__class__ is list
            if not (known.keys() >= set(map(id, sources)) if is_list else id(sources) in known):
                meet(sources)
            if lane.tracing or lane.busy:
                return original(self, target, sources, *args, **kwargs)
            lane.graded = True
            entry = open_span(lane, _RUN)
            try:
                return original(self, target, sources, *args, **kwargs)
            finally:
                close(lane, entry)

        return gradient

    def _assign(self, original: Function) -> Function:
        """By the parameters of 2.15 to 2.21, the first of which is called `value` or `delta`."""
        updates, assigned = self._updates, self._assigned

        def assign(
            self: object,
            value: object,
            use_locking: object = None,
            name: object = None,
            read_value: object = True,
        ) -> object:
            if updates:  # an optimizer assigns several times for every weight
                return original(self, value, use_locking, name, read_value)
            return assigned(original, self, value, use_locking, name, read_value)

        def change(
            self: object,
            delta: object,
            use_locking: object = None,
            name: object = None,
            read_value: object = True,
        ) -> object:
            if updates:
                return original(self, delta, use_locking, name, read_value)
            return assigned(original, self, delta, use_locking, name, read_value)

        return assign if original.__name__ == "assign" else change

    def _assigned(self, original: Function, variable: object, *args: object) -> Foreign:
        lane = self.recorder.local.lane
        if lane.updating or id(variable) not in self._weights.by_id or lane.busy:
            return original(variable, *args)
        if lane.tracing:
            self.steps.mark_updating()
            return original(variable, *args)
        if (
            not lane.graded or not self._executing()
        ):  # weights are put back or copied, between trainings or networks
            return original(variable, *args)
        return self._updating(
            lane, "assign", variable, functools.partial(original, variable, *args), 3
        )

    def _apply(self, original: Function) -> Function:
        local = self.recorder.local
        probe = self

        def apply(self: object, *args: object, **kwargs: object) -> object:
            lane = local.lane
            if (
                lane.tracing or not probe._executing()
            ):  # a strategy traces its replicas in threads of their own
                probe.steps.mark_updating()
                return original(self, *args, **kwargs)
            if lane.updating or lane.busy:
                return original(self, *args, **kwargs)
            run = functools.partial(original, self, *args, **kwargs)
            return probe._updating(lane, "optimizer", self, run, 2)

        return apply

    def _updating(
        self, lane: Lane, kind: str, owner: object, run: Callable[[], object], depth: int
    ) -> object:
        """Runs an update, `depth` frames below the line that makes it.

        If it ran eagerly, the step ends here.
        """
        lane.updating += 1
        self._updates.append(kind)
        entry = self.recorder.open_span(lane, _RUN)
        try:
            result = run()
        finally:
            self._updates.pop()
            lane.updating -= 1
            self.recorder.close_span(lane, entry)
        within = lane.functions if lane.called or lane.fast_path is not None else ()
        if not lane.updating and not any(map(self.steps.is_updating, within)):
            name = type(owner).__name__ if kind == "optimizer" else str(getattr(owner, "name", ""))
            self.steps.ended(lane, kind, owner, name, sys._getframe(depth))
        return result

    def _look(self, lane: Lane, total: int) -> None:
        """Time every single op for one step, at steps that grow further apart."""
        window = self._window
        if window is not None:
            window.rows -= 1
            if window.rows <= 0:
                self._window = None
                self.unwrap(self._tape, "__enter__")
                window.close(self.steps.total)
            else:
                self.steps.ask_again()
        elif (
            total & (total - 1) == 0
            and total >= 4
            and self._ops is not None
            and self._tape is not None
        ):
            self._window = OpWindow(self.recorder, self._ops, self._past, lane)
            self.replace(self._tape, "__enter__", self._enter)
            # A step may have several updates, each of which ends a row.
            self._window.rows = max(1, round(self.steps.total / max(1, self.steps.led)))
            if self.is_over:  # disarmed on another thread meanwhile
                self._window.close(self.steps.total)
            self.steps.ask_again()

    def disarm(self) -> None:
        self.is_over = True
        if self._window is not None:
            self._window.close(self.steps.total)
        super().disarm()


def _components(variable: object) -> tuple[Foreign, ...]:
    held = attribute(variable, "_values", ())
    return held if isinstance(held, tuple) else ()


def _flat(sources: Foreign) -> Foreign:
    """The leaves of a list, tuple or dict of sources."""
    if isinstance(sources, dict):
        sources = list(sources.values())
    if not isinstance(sources, list | tuple):
        return (sources,)
    if any(isinstance(source, list | tuple | dict) for source in sources):
        return [leaf for source in sources for leaf in _flat(source)]
    return sources
