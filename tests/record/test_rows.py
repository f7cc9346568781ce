"""Rows that differ in their times only are packed as the same rows, one by one."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from unslow.facts.phase import Phase
from unslow.record.engine.limits import ALONE
from unslow.record.engine.rows import FULL, HALF, Calls, Rows
from unslow.runfolder.layout import ROW
from unslow.runfolder.steplog import rows_of


class Kept:
    def __init__(self) -> None:
        self.data = b""

    def rows(self, data: bytes) -> None:
        self.data += data


def packed(calls: list[tuple[int, int]], already: int, at_once: int) -> list[tuple[Any, ...]]:
    """The rows of some calls, handed over so many at once; 1 as rows of their own."""
    kept = Kept()
    rows = Rows(SimpleNamespace(writer=kept, flush=bool, limits=ALONE))  # type: ignore[arg-type]
    rows._packed = already
    last = 0
    for start in range(0, len(calls), at_once):
        part = calls[start : start + at_once]
        if at_once > 1:
            times = [time for call in part for time in call]
            rows.add_calls(Calls(last, 7, 1, 32.0, times))
        else:
            phases = [0] * len(Phase)
            phases[Phase.RUN] = part[0][1] - part[0][0]
            rows.append((part[0][1], last, 7, 1, phases, 0, 32.0, float("nan")))
        last = part[-1][1]
    rows.write(0, last=True)
    return list(ROW.iter_unpack(rows_of(kept.data).tobytes()))


@pytest.mark.parametrize("already", [0, FULL - 300, FULL, FULL + 3 * HALF, FULL + 40 * HALF])
@pytest.mark.parametrize("at_once", [2, 64, 999])
def test_many_at_once_are_the_same_rows(already: int, at_once: int) -> None:
    chance, calls, now = random.Random(already), [], 0
    for _ in range(1000):
        began = now + chance.randrange(1000)
        now = began + chance.randrange(1000)
        calls.append((began, now))
    one_by_one, together = packed(calls, already, 1), packed(calls, already, at_once)
    assert [str(row) for row in together] == [
        str(row) for row in one_by_one
    ]  # of text, since NaN is not itself
    assert sum(row[4] for row in together) == 1000
