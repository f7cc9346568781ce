"""Reads the stack of another thread without that thread running meanwhile."""

from __future__ import annotations

import gc
import itertools
import operator
import sys
from types import CodeType

Line = tuple[
    CodeType, int
]  # code, and the offset of the instruction: most lines are never asked for

_DEEPEST = 300
_READ = operator.attrgetter("f_code", "f_lasti")
# Up to 3.11 the garbage collector may start at any allocation, and run Python code from there.
_COLLECTS_ANYWHERE = sys.version_info < (3, 12)


def lines_of(thread: int) -> list[Line]:
    """The lines on a thread's stack, innermost first; none where the thread is gone.

    A frame whose thread has gone on must not be asked for the one below it: that crashes Python 3.11 now and then
    (python/cpython#99110 and others). So the whole walk is one call of C, in which no other thread gets its turn.
    """
    now = itertools.islice(iter(sys._current_frames, None), 1)
    steps = itertools.chain(
        map(operator.itemgetter(thread), now), itertools.repeat("f_back", _DEEPEST)
    )
    frames = itertools.takewhile(bool, itertools.accumulate(steps, getattr))
    with _uncollected():
        try:
            return list(map(_READ, frames))
        except KeyError:
            return []


def threads() -> list[int]:
    """The threads that run Python, whoever started them."""
    with _uncollected():
        return list(sys._current_frames())


class _uncollected:
    """No garbage is collected inside: a collection that starts in `sys._current_frames` may also hang Python 3.11."""

    def __enter__(self) -> None:
        self._held = _COLLECTS_ANYWHERE and gc.isenabled()
        if self._held:
            gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._held:
            gc.enable()
