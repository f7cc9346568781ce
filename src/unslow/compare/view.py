"""A comparison as plain data, for every format of `unslow compare`."""

from __future__ import annotations

from dataclasses import asdict

from unslow.compare import Comparison, LoopChange
from unslow.facts.json_object import JsonObject
from unslow.model import Diagnosis, Proof, Run, line_text
from unslow.report.view import clean, command_line
from unslow.report.view.findings import finding_of


def view_of(
    comparison: Comparison, before: Diagnosis, after: Diagnosis, proof: Proof | None = None
) -> JsonObject:
    view: JsonObject = clean(
        {
            "schema": 1,
            "before": _run(before.run),
            "after": _run(after.run),
            "loops": [_loop(loop) for loop in comparison.loops],
            "only_before": comparison.only_before,
            "only_after": comparison.only_after,
            "causes": {
                "gone": comparison.gone,
                "new": comparison.new,
                "still_there": comparison.stayed,
            },
            "new_findings": _new_findings(comparison, after),
            "disturbed": comparison.disturbed,
            "problems": comparison.problems,
            "proof": {**asdict(proof), "verdict": proof.verdict.value} if proof else None,
        }
    )
    return view


def _new_findings(comparison: Comparison, after: Diagnosis) -> list[JsonObject]:
    """What the second run has that the first had not: its line, and the diff that cures it."""
    rows = []
    for number, finding in enumerate(after.findings):
        if not finding.fault or finding.cause not in comparison.new:
            continue
        row = finding_of(after.run, finding, after.fixes.get(number), None)
        rows.append(
            {
                "cause": finding.cause,
                "title": finding.title,
                "line": line_text(finding.location),
                "seconds": finding.seconds,
                "advice": finding.advice,
                "fix": row["fix"]["title"] if row["fix"] else "",
                "diff": row["fix"]["diff"] if row["fix"] else "",
            }
        )
    return rows


def _run(run: Run) -> JsonObject:
    return {
        "folder": run.folder,
        "command": command_line(run.command),
        "ended": run.ended,
        "seconds": run.seconds,
        "steps": run.steps,
    }


def _loop(loop: LoopChange) -> JsonObject:
    phases = [
        {"phase": name, "before": before, "after": after}
        for name, (before, after) in loop.phases.items()
    ]
    return {**asdict(loop), "change": loop.change.value, "phases": phases}
