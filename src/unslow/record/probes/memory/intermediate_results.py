"""Intermediate results of an eager call, which no name of the user's holds."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType

from unslow.facts.memory import ModelCall, Unnamed
from unslow.facts.schema import stack_of
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.frames import UserCode, local_names
from unslow.record.engine.safe_inspection import instances_of
from unslow.record.probes.memory.array_walk import FEEDS, is_keras_call
from unslow.record.probes.memory.arrays import LEAST_HELD, arrays_among, described

_DEEP = 300  # frames: each layer of a model within a model has about six
_FRAMES = 6
# Generations of the collector that hold what was made lately: a few thousand objects, which take
# less than a millisecond. With the collector switched off the first of them holds everything.
_YOUNG = 0, 1
_MOST_YOUNG = 50_000


def eager_model_call(
    frame: FrameType | None, user: UserCode
) -> tuple[ModelCall | None, FrameType | None]:
    """The outermost model that a line of the user's calls with data, and the frame of that line.

    None within Keras's own loops, in training mode and under a gradient tape: there the rows of a
    batch belong together.
    """
    found: tuple[ModelCall | None, FrameType | None] = None, None
    called: FrameType | None = None  # the outermost call of a layer below the next user's frame
    for _ in range(_DEEP):
        if frame is None:
            break
        if is_keras_call(frame, FEEDS):
            return None, None
        if is_keras_call(frame, ("__call__",)):
            called = frame
        elif called is not None and user.owns(frame.f_code):
            call = _described(called, user.stack(frame, _FRAMES))
            found = (call, frame) if call is not None else found
            called = None
        frame = frame.f_back
    return found if found[0] is not None and _has_no_tape() else (None, None)


def _described(frame: FrameType, stack: list[tuple[str, int, str]]) -> ModelCall | None:
    names = dict(local_names(frame))
    model, given, options = names.get("self"), names.get("args"), names.get("kwargs")
    if not _predicts(model) or type(given) is not tuple or type(options) is not dict:
        return None
    training = options.get("training")
    if training is not None and training is not False:
        return None
    data = next(arrays_among(given), None)
    shape = described(data)[1] if data is not None else ()
    if not shape:
        return None
    return ModelCall(name=type(model).__name__, rows=shape[0], stack=stack_of(stack))


def _predicts(model: object) -> bool:
    """Whether an object is a model, not a layer."""
    return any("predict" in vars(kind) for kind in type(model).__mro__)


def _has_no_tape() -> bool:
    """Seen on 2.15 to 2.21; without it no call is taken to be free of one."""
    is_empty: Foreign = getattr(
        sys.modules.get("tensorflow.python.pywrap_tfe"), "TFE_Py_TapeSetIsEmpty", None
    )
    return is_empty is not None and bool(is_empty())


def unnamed_tensors(is_named: Callable[[object], bool]) -> Unnamed | None:
    """Large tensors made lately that no name leads to; None where that would take long.

    None under a gradient tape, too, which keeps them for the gradient.
    """
    kind: Foreign = getattr(sys.modules.get("tensorflow.python.framework.ops"), "EagerTensor", None)
    if kind is None or gc.get_count()[0] > _MOST_YOUNG or not _has_no_tape():
        return None
    young = [each for generation in _YOUNG for each in instances_of([kind], generation)]
    sizes = [described(each)[:2] for each in young if not is_named(each)]
    large = [each for each in sizes if each[0] >= LEAST_HELD]
    if not large:
        return None
    largest, shape = max(large)
    return Unnamed(bytes=sum(size for size, _ in large), largest=largest, shape=shape)
