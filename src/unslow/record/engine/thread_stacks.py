"""Reads the stack of another thread without that thread running meanwhile."""

from __future__ import annotations

import gc
import itertools
import operator
import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from types import CodeType

from unslow.record.engine.foreign import Foreign
from unslow.record.engine.giving_way import disable_collections

Line = tuple[CodeType, int]  # code, and the offset of the instruction

_DEEPEST = 300
_CALL: Callable[[partial[Foreign]], Foreign] = partial.__call__
_READ = operator.attrgetter("f_code", "f_lasti")
# Up to 3.11 the garbage collector may start at any allocation, and run Python code from there.
_COLLECTS_ANYWHERE = sys.version_info < (3, 12)


def lines_of(thread: int) -> list[Line]:
    """The lines on a thread's stack, innermost first; none where the thread is gone.

    A frame whose thread has gone on must not be asked for the one below it: that sometimes crashes
    Python 3.11 (python/cpython#99110 and others). So the whole walk is one call of C, in which no
    other thread gets its turn.
    """
    now = itertools.islice(iter(sys._current_frames, None), 1)
    innermost = map(operator.methodcaller("get", thread), now)
    steps = itertools.chain(innermost, itertools.repeat("f_back", _DEEPEST))
    frames = itertools.takewhile(bool, itertools.accumulate(steps, getattr))
    return _without_collections(partial(list, map(_READ, frames)))


def threads() -> list[int]:
    """The threads that run Python, whoever started them."""
    now = itertools.islice(iter(sys._current_frames, None), 1)
    return _without_collections(partial(list, itertools.chain.from_iterable(now)))


def _without_collections(read: Callable[[], list[Foreign]]) -> list[Foreign]:
    """Call a function of C that does not raise while no garbage is collected.

    A collection that starts in `sys._current_frames` may hang Python 3.11. The program must see
    nothing of it: were the collector switched off and on again by lines of Python, a `gc.disable()`
    of another thread in between would be undone. So all of it is one call of C, too: whether the
    collector is on, switching it off, reading, and switching it on if it was.
    """
    if not _COLLECTS_ANYWHERE:
        return read()
    enabled: list[bool] = []
    calls: tuple[partial[Foreign], ...] = (
        partial(enabled.extend, itertools.starmap(gc.isenabled, [()])),
        partial(disable_collections),
        partial(read),
        partial(deque, itertools.starmap(gc.enable, itertools.compress([()], enabled)), 0),
    )
    _, _, found, _ = map(_CALL, calls)
    return list(found)
