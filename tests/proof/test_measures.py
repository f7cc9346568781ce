"""Several fixes are proved by the measure that shows what each of them claims."""

from __future__ import annotations

import pytest

from unslow.proof.measures import (
    AllSteps,
    Measure,
    PeakMemory,
    SteadySteps,
    WholeProgram,
    combined,
)


@pytest.mark.parametrize(
    ("measures", "expected"),
    [
        ([SteadySteps(), AllSteps()], AllSteps()),
        ([WholeProgram(), AllSteps()], WholeProgram()),
        ([PeakMemory(), SteadySteps()], PeakMemory()),
        ([PeakMemory(), WholeProgram()], PeakMemory(to_end=True)),
    ],
)
def test_the_widest_measure_is_taken(measures: list[Measure], expected: Measure) -> None:
    assert combined(measures) == expected
