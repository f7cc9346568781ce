"""What a switch is: a probe that may also change what it sees, and always tells what it did."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from types import FrameType

from unslow.facts.whatif import Switched, SwitchFailed
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.probe import Probe
from unslow.record.engine.recorder import Recorder
from unslow.record.engine.steps import Steps
from unslow.record.engine.watcher import Watcher

_MOST_TOLD = 200


class Switch(Probe):
    """`asked` holds every setting of this trial by name; a switch takes the ones that it knows."""

    def __init__(
        self, asked: Mapping[str, Foreign], recorder: Recorder, steps: Steps, watcher: Watcher
    ) -> None:
        super().__init__(recorder, steps, watcher)
        self.asked = asked
        self._told: set[str] = set()

    def tell(self, reached: Switched, frame: FrameType | None = None) -> None:
        """Report, once for each place and content, that a switch was reached and what was done."""
        stack = self.recorder.stack(frame, 3) if frame is not None else ()
        key = f"{reached}{stack[:1]}"
        if key in self._told or len(self._told) >= _MOST_TOLD:
            return
        self._told.add(key)
        self.recorder.emit(reached.replace(stack=stack))

    def fenced(self, action: Function, *args: object) -> Foreign:
        """What the action returns, or None where it fails: the training goes on without it."""
        try:
            return action(*args)
        except Exception as problem:  # noqa: BLE001 - the fence of a switch
            why = f"{type(problem).__name__}: {problem}"[:300]
            self.tell(SwitchFailed(switch=self.name, why=why))
            return None

    def changed(
        self, change: Callable[[Mapping[str, Foreign], FrameType], dict[str, Foreign]]
    ) -> Callable[[Foreign], Foreign]:
        """Wrap a method: `change(arguments, caller's frame)` gives the arguments to replace."""
        probe = self

        def make(original: Function) -> Function:
            signature = inspect.signature(original)

            def rebound(
                args: tuple[Foreign, ...], kwargs: dict[str, Foreign], frame: FrameType
            ) -> object:
                bound = signature.bind(*args, **kwargs)
                other = change(bound.arguments, frame)
                bound.arguments.update(other)
                return bound if other else None

            def call(*args: object, **kwargs: object) -> object:
                bound = probe.fenced(rebound, args, kwargs, sys._getframe(1))
                if bound is None:
                    return original(*args, **kwargs)
                return original(*bound.args, **bound.kwargs)

            return call

        return make

    def users(self, frame: FrameType | None, *through: str) -> FrameType | None:
        """The user's frame that made a call, perhaps through a library; None if there is none."""
        while frame is not None and any(part in frame.f_code.co_filename for part in through):
            frame = frame.f_back
        return frame if frame is not None and self.recorder.user.owns(frame.f_code) else None
