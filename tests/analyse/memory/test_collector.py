"""The seconds of the garbage collector, step by step."""

from __future__ import annotations

import pytest

from unslow.analyse.memory.collector import CollectorPauses, collector_pauses
from unslow.analyse.sketches.sketch import Sketch
from unslow.model import Loop, Phase


def seen(shares: list[float], tracing: float = 0.0) -> tuple[Loop, CollectorPauses]:
    """Steps of 10 ms."""
    phases = {Phase.GC: shares, Phase.TRACE: tracing}
    loop = Sketch("", [0.01] * len(shares), phases).run().loops[0]
    return loop, collector_pauses(loop)


def test_the_first_step_is_left_out() -> None:
    _, pauses = seen([0.9] + [0.1] * 40)
    assert pauses.total == pytest.approx(0.04)


def test_the_two_longest_pauses_do_not_recur() -> None:
    _, pauses = seen([0.0] + [0.1] * 38 + [0.5] * 2)
    assert pauses.recurring == pytest.approx(0.038)


def test_pauses_in_steps_that_trace_do_not_count() -> None:
    _, pauses = seen([0.1] * 41, tracing=0.5)
    assert pauses.total == 0


def test_pauses_that_double_are_extrapolated() -> None:
    loop, pauses = seen([0.1] * 41 + [0.2] * 40)
    forecast = pauses.forecast(loop)
    assert pauses.grows and forecast is not None
    assert forecast.step == 810
    # Without pauses a step takes 8.5 ms; they grow by 1 ms in 40.5 steps.
    expected = 0.0085 + 0.001 + 0.001 / 40.5 * (810 - 81 / 4)
    assert forecast.step_seconds == pytest.approx(expected)


def test_steady_pauses_have_no_forecast() -> None:
    loop, pauses = seen([0.1] * 81)
    assert not pauses.grows and pauses.forecast(loop) is None
