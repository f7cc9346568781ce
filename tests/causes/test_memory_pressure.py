"""How much of a training the wait for memory is said to take."""

from __future__ import annotations

from dataclasses import replace

import pytest

from unslow.analyse.sketches.sketch import Sketch
from unslow.cause import by_id


def _seconds(sketch: Sketch) -> float:
    cause = by_id("memory-pressure")
    assert cause is not None
    (finding,) = cause.detect(sketch.run())
    return finding.seconds


def _with(sketch: Sketch, **gained: float) -> Sketch:
    count = len(next(iter(sketch.ticks.values())))
    rising = {name: [gain * n / (count - 1) for n in range(count)] for name, gain in gained.items()}
    return replace(sketch, ticks={**sketch.ticks, **rising})


def test_what_the_kernel_does_for_pages_takes_longer_where_others_have_the_core() -> None:
    cause = by_id("memory-pressure")
    assert cause is not None
    (paging,) = (one for one in cause.FIRES if "read_bytes" in one.ticks)
    alone = _with(paging, io_stall=0.8, system_cpu=0.8)
    crowded = _with(alone, waited=2.0, ran=2.0)
    assert _seconds(crowded) / _seconds(alone) == pytest.approx((0.8 + 2 * 0.8) / (0.8 + 0.8))
