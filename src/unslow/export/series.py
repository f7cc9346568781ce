"""What trackers of experiments take: one row of numbers per step, a summary, and the report as
text."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.export.tensorboard import points_of
from unslow.facts.json_object import JsonObject
from unslow.model import Diagnosis
from unslow.report.view import clean


def rows_of(diagnosis: Diagnosis) -> Iterator[tuple[float, int, dict[str, float]]]:
    """Time, step and numbers of the longest loop; trackers know one series of steps per run."""
    loops = sorted(diagnosis.run.loops, key=lambda loop: -loop.total)
    for loop in loops[:1]:
        for time, step, values in points_of(loop):
            yield time, step, {f"unslow/{name}": value for name, value in values.items()}


def summary_of(diagnosis: Diagnosis) -> dict[str, float]:
    """Numbers of the whole run: its length, its steps, and the cost of each cause."""
    run = diagnosis.run
    summary = {
        "unslow/seconds": run.seconds,
        "unslow/steps": float(run.steps),
        "unslow/unexplained seconds": diagnosis.unexplained,
        "unslow/own cost seconds": diagnosis.own_seconds,
    }
    for finding in diagnosis.findings:
        name = f"unslow/cost of {finding.cause}"
        summary[name] = summary.get(name, 0.0) + finding.seconds
    cleaned: dict[str, float] = clean(summary)
    return cleaned


def settings_of(diagnosis: Diagnosis) -> JsonObject:
    """The command and the versions it ran with."""
    command: JsonObject = {"command": " ".join(diagnosis.run.command)}
    cleaned: JsonObject = clean(command | diagnosis.run.versions)
    return cleaned
