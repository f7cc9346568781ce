"""Sees a single graph that is run by itself: the result of `get_concrete_function`."""

from __future__ import annotations

import sys
from types import FrameType, ModuleType

from unslow.facts.phase import Phase
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane
from unslow.record.probes.functions.compiled import batch_size

_RUN = int(Phase.RUN)


class Concrete(Probe):
    name = "concrete"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._context: Foreign = None

    def doors(self) -> Doors:
        return {
            "tensorflow.python.eager.polymorphic_function.concrete_function": self.wrapping(
                {"ConcreteFunction.__call__": self._call}
            ),
            "tensorflow.python.eager.context": self._on_context,
        }

    def _on_context(self, module: ModuleType) -> None:
        self._context = module

    def _call(self, original: Function) -> Function:
        local, open_span = self.recorder.local, self.recorder.open_span
        close = self.recorder.close_span
        ended, user = self._ended, self.recorder.user
        mark_updating, is_updating = self.steps.mark_updating, self.steps.is_updating

        def __call__(self: Foreign, *args: object, **kwargs: object) -> object:
            lane = local.lane
            if lane.busy or not is_updating(self.graph):
                lane.graded = lane.graded or not lane.functions
                return original(self, *args, **kwargs)
            if lane.tracing:
                mark_updating()
            if lane.tracing or lane.functions or lane.updating:
                return original(self, *args, **kwargs)
            entry = open_span(lane, _RUN)
            try:
                result = original(self, *args, **kwargs)
            finally:
                close(lane, entry)
            frame: FrameType | None = sys._getframe().f_back
            while frame is not None and not user.owns(frame.f_code):
                frame = frame.f_back
            ended(lane, self, args, frame)
            return result

        return __call__

    def _ended(
        self, lane: Lane, concrete: object, args: tuple[Foreign, ...], frame: FrameType | None
    ) -> None:
        try:
            if self._context is not None and self._context.executing_eagerly():
                lane.elements = batch_size(args) or lane.elements
                self.steps.ended(
                    lane, "function", concrete, str(getattr(concrete, "name", "")), frame
                )
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")
