"""A finding as plain data: its cost, its line with context, its fix as a diff and the proof of it."""

from __future__ import annotations

from typing import Any

from unslow.fix.edit.diff import unified_diff
from unslow.model import Evidence, Finding, Fix, Forecast, Location, Proof, Refusal, Run
from unslow.report import words

CONTEXT = 2  # lines of code shown before and after the line itself


def finding_of(
    run: Run, finding: Finding, fix: Fix | Refusal | None, proof: Proof | None
) -> dict[str, Any]:
    return {
        "cause": finding.cause,
        "title": finding.title,
        "location": location_of(run, finding.location),
        "seconds": finding.seconds,
        "share": share_of(run, finding.seconds),
        "frees_bytes": finding.frees,
        "grows": finding.grows,
        "forecast": _forecast(finding.forecast),
        "certainty": finding.certainty.value,
        "fault": finding.fault,
        "evidence": [_evidence(each) for each in finding.evidence],
        "advice": finding.advice,
        "merged": list(finding.merged),
        "fix": _fix(run, fix) if isinstance(fix, Fix) else None,
        "refusal": _refusal(fix) if isinstance(fix, Refusal) else None,
        "proof": _proof(proof) if proof else None,
    }


def share_of(run: Run, seconds: float) -> float:
    """A share of the time in training steps, or of the run where there were none."""
    whole = run.trained or run.seconds
    return min(1.0, seconds / whole) if whole > 0 else 0.0


def location_of(run: Run, location: Location | None) -> dict[str, Any] | None:
    if location is None:
        return None
    code = location.code or run.line(location.file, location.line)
    return {
        "file": location.file,
        "line": location.line,
        "function": location.function,
        "code": code.strip(),
        "context": _context(run, location, code),
    }


def _context(run: Run, location: Location, code: str) -> list[dict[str, Any]]:
    """The lines around a location with the common indent taken off, so that deep code still fits."""
    lines = run.sources.get(location.file, "").splitlines()
    if not 0 < location.line <= len(lines):
        return [{"line": location.line, "code": code.strip()}] if code else []
    first, last = max(1, location.line - CONTEXT), min(len(lines), location.line + CONTEXT)
    chosen = [
        (number, lines[number - 1].expandtabs(4).rstrip()) for number in range(first, last + 1)
    ]
    while chosen[-1][0] > location.line and not chosen[-1][1]:
        chosen.pop()
    while chosen[0][0] < location.line and not chosen[0][1]:
        chosen.pop(0)
    indent = min(len(text) - len(text.lstrip()) for _, text in chosen if text or len(chosen) == 1)
    return [{"line": number, "code": text[indent:]} for number, text in chosen]


def _evidence(each: Evidence) -> dict[str, Any]:
    return {
        "label": each.label,
        "value": each.value,
        "unit": each.unit,
        "text": words.quantity(each.value, each.unit),
    }


def _forecast(forecast: Forecast | None) -> dict[str, Any] | None:
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
    return f"at step {forecast.step:,} {' and '.join(parts)}" if parts else ""


def _fix(run: Run, fix: Fix) -> dict[str, Any]:
    return {
        "title": fix.title,
        "safety": fix.safety.value,
        "diff": "".join(
            unified_diff(file, run.sources.get(file, ""), text) for file, text in fix.files.items()
        ),
        "note": fix.note,
    }


def _refusal(refusal: Refusal) -> dict[str, Any]:
    return {"reason": refusal.reason, "line": str(refusal.location) if refusal.location else ""}


def _proof(proof: Proof) -> dict[str, Any]:
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
