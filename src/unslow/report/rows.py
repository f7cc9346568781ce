"""The rows of a view that reports hand around, as JSON carries them; checked by mypy alone."""

from __future__ import annotations

from typing import TypedDict


class CodeRow(TypedDict):
    """A line of source."""

    line: int
    code: str


class LocationRow(TypedDict):
    """A line of the user's code with the lines around it."""

    file: str
    line: int
    function: str
    code: str
    context: list[CodeRow]


class EvidenceRow(TypedDict):
    label: str
    value: float | int | str
    unit: str
    text: str  # the value in its unit


class ForecastRow(TypedDict):
    step: int
    step_seconds: float | None
    bytes: float | None
    text: str


class FixRow(TypedDict):
    title: str
    safety: str
    diff: str
    note: str


class RefusalRow(TypedDict):
    """Why there is no diff, and the line that stands in the way."""

    reason: str
    line: str


class ProofRow(TypedDict):
    verdict: str
    speedup: float
    low: float
    high: float
    before: list[float]
    after: list[float]
    steps: int
    difference: float | None
    text: str


class FindingRow(TypedDict):
    cause: str
    title: str
    location: LocationRow | None
    seconds: float
    share: float
    of_training: bool  # its seconds and share; else of the run
    frees_bytes: float
    grows: bool
    forecast: ForecastRow | None
    certainty: str
    in_first_step: bool
    fault: bool
    evidence: list[EvidenceRow]
    advice: str
    merged: list[str]
    fix: FixRow | None
    refusal: RefusalRow | None
    proof: ProofRow | None


class VerdictRow(TypedDict):
    kind: str  # fault, honest, healthy, unexplained or no-steps
    text: str
    more: str
    seconds: float
    share: float
    speedup: float | None
    line: str
    cause: str


class BarRow(TypedDict):
    """One phase of a loop."""

    phase: str
    label: str
    seconds: float
    share: float
    per_step: float


class TrendRow(TypedDict):
    shape: str
    before: float
    after: float
    change: float
    slope: float
    slope_low: float
    slope_high: float
    at_step: int | None
    period: int | None
    spike: float
    text: str


class SparklineRow(TypedDict):
    values: list[float]
    scale: str  # linear or log
    low: float
    high: float


class LoopRow(TypedDict):
    line: str
    update: str
    location: LocationRow
    style: str
    kind: str
    process: int
    worker: str
    steps: int
    seconds: float
    typical: float
    first: float
    first_apart: bool  # the first step took much longer than the others
    updates_per_step: float
    phases: dict[str, float]
    bars: list[BarRow]
    trend: TrendRow
    sparkline: SparklineRow
