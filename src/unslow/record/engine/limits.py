"""How much one process writes: in a job of many processes less, as all of them are read
together."""

from __future__ import annotations

from typing import NamedTuple

_TOGETHER = 16  # processes that may write as much as a single one


class Limits(NamedTuple):
    """Rows and readings of counters, before each of them stands for more steps or seconds."""

    rows_in_full: int  # rows that hold one update each
    rows_per_width: int  # further rows that hold 2 updates, then 4, 8 …
    ticks_in_full: int  # readings before the distance doubles, and doubles again


# Ten million updates of one process make 210,000 rows, 30 MB.
ALONE = Limits(50_000, 20_000, 2000)
# Of each process, however many there are: 100,000 steps make 4,400 rows, 0.7 MB; three hours make
# 300 readings. A thousand workers then write 1.1 GB in all.
LEAST = Limits(1024, 512, 32)


def limits_for(size: int) -> Limits:
    """The limits of each process of a job of this size."""
    if size <= _TOGETHER:
        return ALONE
    share = (limit * _TOGETHER // size for limit in ALONE)
    return Limits(*map(max, share, LEAST))
