"""Keras's own switches (2 and 3): arguments of `compile` and `fit`, the dtype policy of layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FrameType, ModuleType

from unslow.facts.whatif import FitStarted, LayersMade, ModelCompiled
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.keras_classes import base_trainer, tensorflow_trainer
from unslow.record.engine.probe import Doors
from unslow.record.trial.whatif.switch import Switch

_DEFAULT_BATCH = 32  # what fit() takes for arrays when nothing is said
_COMPILE = ("jit_compile", "steps_per_execution")


class Compile(Switch):
    name = "whatif-compile"

    def doors(self) -> Doors:
        return {
            "keras.src.trainers.trainer": lambda module: self._on_trainer(base_trainer(module)),
            "keras.src.engine.training": lambda module: self._on_trainer(module.Model),
            "tf_keras.src.engine.training": lambda module: self._on_trainer(module.Model),
        }

    def _on_trainer(self, trainer: object) -> None:
        self.replace(trainer, "compile", self.changed(self._compile))

    def _compile(self, arguments: Mapping[str, Foreign], frame: FrameType) -> dict[str, Foreign]:
        other = {name: self.asked[name] for name in _COMPILE if name in self.asked}
        if arguments.get("run_eagerly"):
            self.tell(ModelCompiled(eager=True), frame)
            return {}
        self.tell(ModelCompiled(done=tuple(sorted(other))), frame)
        return other


class Fit(Switch):
    name = "whatif-fit"

    def doors(self) -> Doors:
        return {
            "keras.src.backend.tensorflow.trainer": lambda module: self._on_trainer(
                tensorflow_trainer(module)
            ),
            "keras.src.engine.training": lambda module: self._on_trainer(module.Model),
            "tf_keras.src.engine.training": lambda module: self._on_trainer(module.Model),
        }

    def _on_trainer(self, trainer: object) -> None:
        self.replace(trainer, "fit", self.changed(self._fit))

    def _fit(self, arguments: Mapping[str, Foreign], frame: FrameType) -> dict[str, Foreign]:
        model, data = arguments["self"], arguments.get("x")
        now = arguments.get("batch_size") or _DEFAULT_BATCH
        arrays = _is_arrays(data)
        factor = float(self.asked.get("batch", 1))
        size = max(1, round(now * factor))
        done = arrays and "batch" in self.asked and size != now
        reached = FitStarted(
            done=("batch",) if done else (),
            arrays=arrays,
            size=size if arrays else 0,
            was=now,
            dataset=hasattr(data, "element_spec"),
            epoch=0 if self.asked else _epoch(arguments, now),
            jit=bool(getattr(model, "jit_compile", False)),
            together=int(getattr(model, "steps_per_execution", 1) or 1),
            eager=bool(getattr(model, "run_eagerly", False)),
        )
        self.tell(reached, frame)
        return {"batch_size": size} if done else {}


class Policy(Switch):
    """The dtype in which Keras layers compute; a policy that the script sets wins."""

    name = "whatif-policy"

    def doors(self) -> Doors:
        return {
            "keras.src.dtype_policies.dtype_policy": lambda module: self._set(
                module.set_dtype_policy
            ),
            "tf_keras.src.mixed_precision.policy": lambda module: self._set(
                module.set_global_policy
            ),
            "keras.src.layers.layer": self._on_layers,
            "tf_keras.src.engine.base_layer": self._on_layers,
        }

    def _set(self, choose: Callable[[str], None]) -> None:
        if "policy" in self.asked:
            choose(str(self.asked["policy"]))

    def _on_layers(self, module: ModuleType) -> None:
        probe = self

        def make(original: Function) -> Function:
            def __init__(self: object, *args: object, **kwargs: object) -> None:
                original(self, *args, **kwargs)
                probe.fenced(probe._built, self)

            return __init__

        self.replace(module.Layer, "__init__", make)

    def _built(self, layer: object) -> None:
        policy = str(getattr(getattr(layer, "dtype_policy", None), "name", ""))
        wanted = self.asked.get("policy")
        self.tell(LayersMade(done=("policy",) if policy == wanted else (), policy=policy))


def _epoch(arguments: Mapping[str, Foreign], batch: int) -> int:
    """Steps in an epoch, or 0 where nobody says."""
    data: Foreign = arguments.get("x")
    told = arguments.get("steps_per_epoch")
    if told:
        return int(told)
    if _is_arrays(data):
        part: Foreign = data
        while isinstance(part, list | tuple | dict):
            part = next(iter(part.values())) if isinstance(part, dict) else part[0]
        rows = int(int(part.shape[0]) * (1 - float(arguments.get("validation_split") or 0)))
        return -(-rows // batch)
    return max(0, int(data.cardinality())) if hasattr(data, "cardinality") else 0


def _is_arrays(data: Foreign) -> bool:
    """What fit() cuts into batches by itself: arrays and tensors, alone or in lists and dicts."""
    if isinstance(data, list | tuple):
        return bool(data) and all(_is_arrays(part) for part in data)
    if isinstance(data, dict):
        return bool(data) and all(_is_arrays(part) for part in data.values())
    return hasattr(data, "shape") and not hasattr(data, "element_spec")
