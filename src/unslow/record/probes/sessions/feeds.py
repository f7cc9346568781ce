"""What is fed to the runs of a session: whether it is the same, and what its conversion takes."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from unslow.facts.sessions import Feed
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.recorder import clock
from unslow.record.probes.sessions.session_run import Ran, name_of

MOST_FEEDS = 8
_MOST_BYTES = 256 << 20
_ENOUGH = 3_000_000  # nanoseconds: what takes longer need not be repeated to be timed


def fed_alike(one: Ran, other: Ran) -> bool:
    return feeds_include(one.feed, other.feed) and feeds_include(other.feed, one.feed)


def feeds_include(one: Foreign, other: Foreign) -> bool:
    """Whether all that is fed to one run is fed to the other too, with equal values."""
    others = {name_of(key): value for key, value in (other or {}).items()}
    for key, value in (one or {}).items():
        name = name_of(key)
        if name not in others or not _equal(value, others[name]):
            return False
    return True


def _equal(one: Foreign, other: Foreign) -> bool:
    if one is other:
        return True
    numpy = sys.modules.get("numpy")
    if numpy is None or type(one) is not type(other) or getattr(one, "nbytes", 0) > _MOST_BYTES:
        return False
    return not _differ_in_first(numpy, one, other) and bool(numpy.array_equal(one, other))


def _differ_in_first(numpy: Foreign, one: Foreign, other: Foreign) -> bool:
    """Whether two batches differ in their length or their first row, as most do.

    To turn lists into arrays takes milliseconds.
    """
    has_rows = type(one) in (list, tuple) or (type(one) is numpy.ndarray and one.ndim > 0)
    if not has_rows:
        return False
    return len(one) != len(other) or not numpy.array_equal(one[:1], other[:1])


def measured_feeds(ran: Ran, measured: dict[int, Feed]) -> Iterator[Feed]:
    """What each fed value is, and what its conversion and its copy take."""
    numpy = sys.modules.get("numpy")
    for position, (key, value) in enumerate(list((ran.feed or {}).items())[:MOST_FEEDS]):
        dtype: Foreign = getattr(key, "dtype", None)
        if numpy is None or not hasattr(dtype, "as_numpy_dtype"):
            continue
        if getattr(value, "nbytes", 0) > _MOST_BYTES:
            continue
        feed = measured.get(id(value))
        if feed is None or feed.wanted != dtype.name:
            feed = measured[id(value)] = _measured(numpy, value, dtype)
        yield feed.replace(name=name_of(key), position=position)


def _measured(numpy: Foreign, value: Foreign, dtype: Foreign) -> Feed:
    convert, array = _least(numpy.asarray, value, dtype.as_numpy_dtype)
    return Feed(
        cycle=0,
        name="",
        type=type(value).__name__,
        wanted=dtype.name,
        dtype=str(getattr(value, "dtype", "")),
        bytes=array.nbytes,
        contiguous=bool(array.flags.c_contiguous),
        convert=convert,
        copy=_least(numpy.array, array)[0],
        elements=int(array.size),
    )


def _least(action: Function, *args: object) -> tuple[int, Foreign]:
    """The shortest of three times, since the machine only ever adds to it; and the result."""
    times: list[int] = []
    result: Foreign = None
    while len(times) < 3 and sum(times) < _ENOUGH:
        began = clock()
        result = action(*args)
        times.append(clock() - began)
    return min(times), result
