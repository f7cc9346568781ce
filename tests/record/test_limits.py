"""What each process of a job may write."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

from unslow.facts.phase import Phase
from unslow.record.engine.limits import ALONE, LEAST, limits_for
from unslow.record.engine.rows import Rows
from unslow.runfolder.steplog import rows_of


@pytest.mark.parametrize(("size", "expected"), [(0, ALONE), (1, ALONE), (16, ALONE)])
def test_a_small_job_is_recorded_as_a_single_process_is(size: int, expected: object) -> None:
    assert limits_for(size) == expected


def test_a_worker_of_many_writes_less_but_never_less_than_a_minimum() -> None:
    assert ALONE.rows_in_full > limits_for(32).rows_in_full > LEAST.rows_in_full
    assert limits_for(1000) == LEAST == limits_for(1_000_000)


def test_a_hundred_thousand_steps_of_a_worker_of_a_thousand_are_few_rows() -> None:
    kept: list[bytes] = []
    writer = SimpleNamespace(rows=kept.append)
    recorder = SimpleNamespace(writer=writer, flush=bool, limits=limits_for(1000))
    rows = Rows(recorder)  # type: ignore[arg-type]
    chance, now = random.Random(1), 0
    for _ in range(100_000):
        took = chance.randrange(1_000, 2_000)
        rows.append((now + took, now, 0, 1, [0] * len(Phase), 0, 1.0, 0.0))
        now += took
    rows.write(now, last=True)
    written = rows_of(b"".join(kept))
    assert int(written["count"].sum()) == 100_000
    assert 4_000 < len(written) < 5_000
