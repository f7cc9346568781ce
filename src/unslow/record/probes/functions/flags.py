"""Sees the flags that make compiled functions run op by op, and the user's line that sets them."""

from __future__ import annotations

import functools
import sys
from types import FrameType

from unslow.facts.functions import Eagerly
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.keras_classes import base_trainer
from unslow.record.engine.live_objects import Living
from unslow.record.engine.own_attributes import attribute
from unslow.record.engine.probe import Doors, Probe


class Flags(Probe):
    name = "flags"

    def doors(self) -> Doors:
        doors: Doors = {
            "tensorflow.python.eager.polymorphic_function.eager_function_run": self.wrapping(
                {"run_functions_eagerly": self._run_functions}
            ),
            "keras.src.trainers.trainer": lambda module: self._on_trainer(base_trainer(module)),
        }
        for keras in ("keras", "tf_keras"):
            doors[f"{keras}.src.engine.training"] = lambda module: self._on_trainer(module.Model)
        return doors

    def inherit(self, living: Living) -> None:
        """Flags that were set before; at which line is not known."""
        eager_run = sys.modules.get(
            "tensorflow.python.eager.polymorphic_function.eager_function_run"
        )
        if getattr(eager_run, "RUN_FUNCTIONS_EAGERLY", False):  # seen on 2.15 to 2.21
            self._note("run_functions_eagerly", True, None, 0)
        for model in living.models:
            if attribute(model, "_run_eagerly"):  # Keras 2 and 3
                self._note("compile", True, None, id(model))

    def _run_functions(self, original: Function) -> Function:
        note = self._note

        def run_functions_eagerly(run_eagerly: object) -> object:
            note("run_functions_eagerly", run_eagerly, sys._getframe().f_back, 0)
            return original(run_eagerly)

        return run_functions_eagerly

    def _on_trainer(self, trainer: Foreign) -> None:
        self.replace(trainer, "compile", self._compile)
        held = vars(trainer).get("run_eagerly")
        if not isinstance(held, property) or held.fset is None:
            return
        note, assign = self._note, held.fset

        @functools.wraps(assign)
        def run_eagerly(self: object, value: object) -> None:
            note("run_eagerly", value, sys._getframe().f_back, id(self))
            assign(self, value)

        placed = held.setter(run_eagerly)
        trainer.run_eagerly = placed
        self._restore.append((trainer, "run_eagerly", held, placed))

    def _compile(self, original: Function) -> Function:
        note = self._note

        def compile(self: object, *args: object, **kwargs: Foreign) -> object:
            result = original(self, *args, **kwargs)
            note("compile", kwargs.get("run_eagerly", False), sys._getframe().f_back, id(self))
            return result

        return compile

    def _compiles(self, frame: FrameType | None) -> bool:
        """Whether compile() is between an assignment and the user's line."""
        while frame is not None and not self.recorder.user.owns(frame.f_code):
            if frame.f_code.co_name == "compile":
                return True
            frame = frame.f_back
        return frame is None

    def _note(self, way: str, value: object, frame: FrameType | None, model: int) -> None:
        with self.fence:
            # An attribute that compile() itself sets is reported by the call of compile().
            if way == "run_eagerly" and self._compiles(frame):
                return
            stack = self.recorder.stack(frame)
            self.recorder.emit(
                Eagerly(
                    key=str(stack[:1]),
                    way=way,
                    value=bool(value),
                    model=model,
                    stack=stack,
                    step=self.steps.total,
                )
            )
