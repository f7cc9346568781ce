"""Calls around TensorFlow's traceback filter, which takes about 3 µs of a short call."""

from __future__ import annotations

import sys
from collections.abc import Callable

from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.probe import disguise


def without_filter(
    original: Foreign,
) -> tuple[Function, Callable[[BaseException], object]]:
    """The function inside TensorFlow's filter, and the filter, to be called with an error.

    It raises the error again, with the frames that it would have had. Without such a filter: the
    original, and nothing to be called.
    """
    tools: Foreign = sys.modules.get("tensorflow.python.util.traceback_utils")
    around: Foreign = getattr(tools, "filter_traceback", None)
    inner = getattr(original, "__wrapped__", None)
    if (
        around is None
        or inner is None
        or getattr(original, "__code__", None) is not around(_again).__code__
    ):
        return original, _nothing
    disguise(_again, inner)
    return inner, around(_again)


def _again(error: BaseException) -> None:
    try:
        raise error
    finally:
        del error  # else the error would hold this frame, and this frame the error


def _nothing(error: BaseException) -> None:
    """The caller raises it."""
