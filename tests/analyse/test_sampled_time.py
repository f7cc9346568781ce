"""Stack samples as time."""

from __future__ import annotations

import pytest

from unslow.analyse.sampled_time import in_steps, is_at, passes, untimed_seconds_at
from unslow.analyse.sketches.sketch import Sketch
from unslow.model import Location, Phase, Sample

INNER, OUTER = Location("model.py", 7), Location("train.py", 11)


def seen(*stack: Location, count: int = 10, phase: Phase = Phase.OTHER) -> Sample:
    return Sample(stack, "python", 0, True, count, 0, count, phase)


def test_a_sample_is_at_its_innermost_line_and_passes_all_others() -> None:
    sample = seen(INNER, OUTER)
    assert is_at(sample, {("model.py", 7)}) and not is_at(sample, {("train.py", 11)})
    assert passes(sample, "train.py", range(10, 13)) and not passes(sample, "train.py", (12,))


def test_a_sample_without_a_line_of_the_users_is_nowhere() -> None:
    assert not is_at(seen(), {("model.py", 7)})


def test_time_of_no_recorded_call_is_shared_out_by_samples() -> None:
    samples = [seen(INNER, OUTER, count=30), seen(count=10), seen(INNER, phase=Phase.RUN)]
    run = Sketch("half of a step is timed", phases={Phase.RUN: 0.5}, samples=samples).run()
    assert in_steps(samples) == 50
    assert untimed_seconds_at(run, run.loops[0], OUTER) == pytest.approx(0.5 * 0.75)
