"""The nouns that every stage shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unslow.facts.phase import Phase
from unslow.model.finding import (
    Certainty,
    Diagnosis,
    Evidence,
    Finding,
    Fix,
    Forecast,
    Refusal,
    Safety,
    Unjudged,
)
from unslow.model.loop import Location, Loop, Shape, Trend, line_text
from unslow.model.proof import Growth, Peak, Proof, Quality, Verdict
from unslow.model.run import Process, Run, Sample, Ticks

if TYPE_CHECKING:
    from unslow.model.loop import Floats as Floats
    from unslow.model.loop import Ints as Ints

__all__ = [
    "Certainty",
    "Diagnosis",
    "Evidence",
    "Finding",
    "Fix",
    "Forecast",
    "Growth",
    "Location",
    "Loop",
    "Peak",
    "Phase",
    "Process",
    "Proof",
    "Quality",
    "Refusal",
    "Run",
    "Safety",
    "Sample",
    "Shape",
    "Ticks",
    "Trend",
    "Unjudged",
    "Verdict",
    "line_text",
]
