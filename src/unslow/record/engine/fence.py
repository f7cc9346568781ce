"""Keeps our own failures from the program: whatever failed is reported as lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from unslow.record.engine.lanes import Lane, clock

if TYPE_CHECKING:
    from unslow.record.engine.recorder import Recorder


T = TypeVar("T")


def attempted(otherwise: T, action: Callable[..., T], *args: object) -> T:
    """What an action on the program's own objects returns, or something else where it raises."""
    try:
        return action(*args)
    except Exception:  # noqa: BLE001 - an object of the program's, of whatever kind
        return otherwise


class Fence:
    """Around work of a probe, or of another part of the recorder.

    Calls that a step makes have a `try` of their own, which costs nothing.
    """

    def __init__(self, recorder: Recorder, name: str) -> None:
        self._recorder, self._name = recorder, name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> bool:
        if not isinstance(problem, Exception):
            return False
        self._recorder.lost(self._name, f"{type(problem).__name__}: {problem}")
        return True


class Inspection(Fence):
    """The same around an inspection, whose time is taken out of the step under way."""

    def __init__(self, recorder: Recorder, name: str, lane: Lane) -> None:
        super().__init__(recorder, name)
        self._lane = lane

    def __enter__(self) -> None:
        self._began = clock()

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> bool:
        is_ours = super().__exit__(kind, problem, trace)
        self._recorder.keep_out(self._lane, clock() - self._began, self._name)
        return is_ours
