"""The numbers of watched runs, by name: what Prometheus and OpenTelemetry are given."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from unslow.watch.alert import Alert, Matter
from unslow.watch.watched import WatchedRun


@dataclass(frozen=True)
class Figure:
    """One number and what it means."""

    name: str
    unit: str  # as OpenTelemetry spells it
    help: str


@dataclass(frozen=True)
class Value:
    """A figure's value with its labels."""

    figure: Figure
    labels: dict[str, str]
    value: float


_RUNS = Figure("unslow_runs", "{run}", "Runs that are being watched.")
_STEPS = Figure("unslow_steps", "{step}", "Training steps recorded so far.")
_STEP = Figure("unslow_step_seconds", "s", "Time of a step, in the last seconds.")
_USUAL = Figure("unslow_step_usual_seconds", "s", "Time of a step as it was under the same load.")
_SLOWER = Figure("unslow_slower_ratio", "1", "How much slower steps are known to be; 0.1 is 10 %.")
_SINCE = Figure("unslow_since_step_seconds", "s", "Time since the last step.")
_MEMORY = Figure("unslow_memory_bytes", "By", "Resident memory of the training.")
_MEMORY_FULL = Figure("unslow_memory_full_seconds", "s", "Time until memory is full.")
_OTHERS = Figure("unslow_others_ratio", "1", "Share of the machine that other programs use.")
_LEFT = Figure("unslow_expected_end_seconds", "s", "Time until the training should be done.")
_ALERT = Figure("unslow_alert", "1", "Whether a matter is reported at present.")
ALERTS = Figure("unslow_alerts", "{alert}", "Alerts so far.")

GAUGES = (
    _RUNS,
    _STEPS,
    _STEP,
    _USUAL,
    _SLOWER,
    _SINCE,
    _MEMORY,
    _MEMORY_FULL,
    _OTHERS,
    _LEFT,
    _ALERT,
)
_STATES = (Matter.SLOWER, Matter.STALLED, Matter.MEMORY)  # that last; the others happen once


def values_of(runs: Iterable[WatchedRun]) -> Iterator[Value]:
    """Every value that is known now."""
    watched = list(runs)
    yield Value(_RUNS, {}, len(watched))
    for run in watched:
        for value in _of_run(run, {"run": run.name}):
            if math.isfinite(value.value):
                yield value


def _of_run(run: WatchedRun, labels: dict[str, str]) -> Iterator[Value]:
    yield Value(_STEPS, labels, run.steps)
    yield Value(_SINCE, labels, run.since_step)
    yield Value(_LEFT, {**labels, "growth": "without"}, run.expected.left)
    yield Value(_LEFT, {**labels, "growth": "with"}, run.expected.growing)
    for matter in _STATES:
        yield Value(_ALERT, {**labels, "kind": matter.value}, float(matter in run.reported))
    process = run.process
    if process is None:
        return
    if process.last is not None:
        yield Value(_STEP, labels, process.last.step)
        yield Value(_SLOWER, labels, math.expm1(process.slowdown.reported))
        yield Value(_OTHERS, labels, process.usage.others)
    if process.slowdown.level and not process.usage.crowded:
        yield Value(_USUAL, labels, process.slowdown.level)
    yield Value(_MEMORY, labels, process.followed.rss)
    if run.full is not None:
        yield Value(_MEMORY_FULL, labels, run.full.left)


class Counts:
    """Alerts so far, by run and matter."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}

    def add(self, alert: Alert) -> None:
        key = (alert.run, alert.matter.value)
        self._counts[key] = self._counts.get(key, 0) + 1

    def values(self) -> Iterator[Value]:
        for (run, kind), count in list(self._counts.items()):
            yield Value(ALERTS, {"run": run, "kind": kind}, count)
