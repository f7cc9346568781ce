"""Another optimizer instead of the script's own, or gradients accumulated over several steps."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Mapping
from types import FrameType

from unslow.facts.whatif import AccumulationSeen, OptimizerMade
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.probe import Doors
from unslow.record.trial.whatif.switch import Switch

# By the package that the script's own optimizer comes from. TensorFlow 1 has no Adafactor.
_KINDS = {
    "keras.src.optimizers": {
        "SGD": "keras.src.optimizers.sgd",
        "Adam": "keras.src.optimizers.adam",
        "Adafactor": "keras.src.optimizers.adafactor",
    },
    "tf_keras.src.optimizers": {
        "SGD": "tf_keras.src.optimizers.sgd",
        "Adam": "tf_keras.src.optimizers.adam",
        "Adafactor": "tf_keras.src.optimizers.adafactor",
    },
    "tensorflow.python.training": {
        "GradientDescentOptimizer": "tensorflow.python.training.gradient_descent",
        "AdamOptimizer": "tensorflow.python.training.adam",
    },
}
_V1 = {"SGD": "GradientDescentOptimizer", "Adam": "AdamOptimizer"}
_WRAPPERS = ("LossScaleOptimizer", "SyncReplicasOptimizer", "MovingAverageOptimizer")
_KEPT = (
    "clipnorm",
    "clipvalue",
    "global_clipnorm",
    "gradient_accumulation_steps",
    "loss_scale_factor",
    "name",
)


class Optimizer(Switch):
    name = "whatif-optimizer"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._inside = False

    def doors(self) -> Doors:
        return {
            "keras.src.optimizers.base_optimizer": lambda module: self._on_base(
                module.BaseOptimizer
            ),
            "tf_keras.src.optimizers.optimizer": lambda module: self._on_base(module.Optimizer),
            "tensorflow.python.training.optimizer": lambda module: self._on_base(module.Optimizer),
        }

    def _on_base(self, base: Foreign) -> None:
        if "gradient_accumulation_steps" in inspect.signature(base.__init__).parameters:
            self.replace(base, "__init__", self.changed(self._accumulate))
        self.replace(base, "__new__", self._another)

    def _accumulate(self, arguments: Mapping[str, Foreign], frame: FrameType) -> dict[str, Foreign]:
        steps = self.asked.get("accumulate")
        own = arguments.get("gradient_accumulation_steps")
        done = bool(steps and not own and type(arguments["self"]).__name__ not in _WRAPPERS)
        self.tell(AccumulationSeen(done=("accumulate",) if done else (), own=own or 0), frame)
        return {"gradient_accumulation_steps": steps} if done else {}

    def _another(self, original: Function) -> Function:
        probe = self

        def __new__(cls: object, *args: object, **kwargs: object) -> object:
            found = (
                None
                if probe._inside
                else probe.fenced(probe._instead, cls, args, kwargs, sys._getframe(1))
            )
            return original(cls) if found is None else found

        return __new__

    def _instead(
        self, kind: Foreign, args: tuple[Foreign, ...], kwargs: dict[str, Foreign], frame: FrameType
    ) -> Foreign:
        package = next((name for name in _KINDS if kind.__module__.startswith(name)), None)
        if package is None or kind.__name__ in _WRAPPERS:
            return None
        wanted = str(self.asked.get("optimizer", ""))
        wanted = _V1.get(wanted, wanted) if package.startswith("tensorflow") else wanted
        module = _KINDS[package].get(wanted)
        done = module is not None and kind.__name__ != wanted
        took = ("optimizer",) if done else ()
        self.tell(OptimizerMade(done=took, own=kind.__name__, package=package), frame)
        if not done or module is None:
            return None
        target = getattr(importlib.import_module(module), wanted)
        signature = inspect.signature(kind.__init__)
        bound = signature.bind_partial(None, *args, **kwargs)
        bound.apply_defaults()
        takes = inspect.signature(target.__init__).parameters
        chosen = {
            name: bound.arguments[name]
            for name in _KEPT
            if name in bound.arguments and name in takes
        }
        self._inside = True
        try:
            return target(bound.arguments.get("learning_rate", 0.001), **chosen)
        finally:
            self._inside = False
