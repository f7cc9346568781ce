"""How much of a training the fixed cost of a step is said to take."""

from __future__ import annotations

import pytest

from unslow.analyse.host.step_profile import SketchedWindow, StepProfile
from unslow.analyse.sketches.sketch import Sketch, at
from unslow.cause import by_id
from unslow.model import Phase

_STEPS = 1000
_AT_FIRST = 0.002  # seconds of a step


def test_what_makes_later_steps_longer_is_no_fixed_cost() -> None:
    profile = StepProfile(kernels=0.001, executor=0.005, calls=(10,))
    window = SketchedWindow(steps=10, step=100, wall=10 * _AT_FIRST, profile=profile)
    growing = [_AT_FIRST + 0.02 * step / _STEPS for step in range(_STEPS)]
    sketch = Sketch("", growing, phases={Phase.RUN: 0.9}, style="function", facts=[at(100, window)])
    cause = by_id("tiny-batches")
    assert cause is not None
    (finding,) = cause.detect(sketch.run())
    assert finding.seconds == pytest.approx(_STEPS * _AT_FIRST, rel=0.25)
