"""Profiler windows of hand-made runs."""

from __future__ import annotations

from unslow.analyse.host.step_profile import SketchedWindow, StepProfile
from unslow.analyse.sketches.sketch import Placed, at


def profiled(profile: StepProfile) -> Placed:
    """A window of ten steps of 10 ms each, in the middle of a sketch."""
    return at(50, SketchedWindow(steps=10, step=50, wall=0.1, profile=profile))
