"""A finding as plain data: its cost, its line with context, its fix as a diff, its proof."""

from __future__ import annotations

import textwrap
from dataclasses import replace

from unslow.fix.edit.diff import unified_diff
from unslow.model import Evidence, Finding, Fix, Forecast, Location, Proof, Refusal, Run, line_text
from unslow.report import words
from unslow.report.rows import (
    CodeRow,
    EvidenceRow,
    FindingRow,
    FixRow,
    ForecastRow,
    LocationRow,
    ProofRow,
    RefusalRow,
)

CONTEXT = 2  # lines of code shown before and after the line itself


def finding_of(
    run: Run, finding: Finding, fix: Fix | Refusal | None, proof: Proof | None
) -> FindingRow:
    return {
        "cause": finding.cause,
        "title": finding.title,
        "location": location_of(run, finding.location) if finding.location else None,
        "seconds": finding.seconds,
        "share": finding.share_of(run),
        "of_training": finding.is_of_training(run),
        "frees_bytes": finding.frees,
        "grows": finding.grows,
        "forecast": _forecast(finding.forecast),
        "certainty": finding.certainty.value,
        "in_first_step": finding.in_first_step,
        "fault": finding.fault,
        "evidence": [_evidence(each) for each in finding.evidence],
        "advice": finding.advice,
        "merged": list(finding.merged),
        "fix": _fix(run, fix) if isinstance(fix, Fix) else None,
        "refusal": _refusal(fix) if isinstance(fix, Refusal) else None,
        "proof": _proof(proof) if proof else None,
    }


def outline_of(run: Run, finding: Finding) -> FindingRow:
    """A finding without its details."""
    bare = replace(finding, evidence=(), forecast=None, location=None)
    return finding_of(run, bare, None, None)


def location_of(run: Run, location: Location) -> LocationRow:
    code = location.code or run.line(location.file, location.line)
    return {
        "file": location.file,
        "line": location.line,
        "function": location.function,
        "code": code.strip(),
        "context": _context(run, location, code),
    }


def _context(run: Run, location: Location, code: str) -> list[CodeRow]:
    """The lines around a location without their common indent, so that deep code still fits."""
    lines = run.sources.get(location.file, "").splitlines()
    if not 0 < location.line <= len(lines):
        return [{"line": location.line, "code": code.strip()}] if code else []
    first = max(1, location.line - CONTEXT)
    chosen = [line.expandtabs(4).rstrip() for line in lines[first - 1 : location.line + CONTEXT]]
    rows = textwrap.dedent("\n".join(chosen)).split("\n")
    with_code = [number for number, row in enumerate(rows, first) if row] + [location.line]
    return [
        {"line": number, "code": rows[number - first]}
        for number in range(min(with_code), max(with_code) + 1)
    ]


def _evidence(each: Evidence) -> EvidenceRow:
    return {
        "label": each.label,
        "value": each.value,
        "unit": each.unit,
        "text": words.quantity(each.value, each.unit),
    }


def _forecast(forecast: Forecast | None) -> ForecastRow | None:
    if forecast is None:
        return None
    return {
        "step": forecast.step,
        "step_seconds": forecast.step_seconds,
        "bytes": forecast.bytes,
        "text": forecast.text or _forecast_text(forecast),
    }


def _forecast_text(forecast: Forecast) -> str:
    parts = []
    if forecast.step_seconds is not None:
        parts.append(f"a step will take {words.seconds(forecast.step_seconds)}")
    if forecast.bytes is not None:
        parts.append(f"memory will hold {words.size(forecast.bytes)}")
    return words.led(f"at step {forecast.step:,} ", " and ".join(parts))


def _fix(run: Run, fix: Fix) -> FixRow:
    return {
        "title": fix.title,
        "safety": fix.safety.value,
        "diff": "".join(
            unified_diff(file, run.sources.get(file, ""), text) for file, text in fix.files.items()
        ),
        "note": fix.note,
    }


def _refusal(refusal: Refusal) -> RefusalRow:
    return {"reason": refusal.reason, "line": line_text(refusal.location)}


def _proof(proof: Proof) -> ProofRow:
    return {
        "verdict": proof.verdict.value,
        "speedup": proof.speedup,
        "low": proof.low,
        "high": proof.high,
        "before": list(proof.before),
        "after": list(proof.after),
        "steps": proof.steps,
        "difference": proof.difference,
        "text": proof.text,
    }
