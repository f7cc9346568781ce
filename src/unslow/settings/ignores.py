"""Takes findings out that the user asked to ignore, and keeps count of them."""

from __future__ import annotations

from dataclasses import replace

from unslow.cause import Spot
from unslow.model import Diagnosis, Finding, Run
from unslow.settings.file import Settings
from unslow.syntax import Source

Ignored = tuple[Finding, str]  # with the reason


def without_ignored(
    diagnosis: Diagnosis, settings: Settings
) -> tuple[Diagnosis, tuple[Ignored, ...]]:
    """The diagnosis without ignored findings, and those findings."""
    comments = _Comments(diagnosis.run)
    reasons = [
        _reason(finding, diagnosis.run, settings) or comments.reason(finding)
        for finding in diagnosis.findings
    ]
    kept = [index for index, reason in enumerate(reasons) if not reason]
    fixes = diagnosis.fixes
    remaining = replace(
        diagnosis,
        findings=tuple(diagnosis.findings[index] for index in kept),
        fixes={new: fixes[old] for new, old in enumerate(kept) if old in fixes},
    )
    both = zip(diagnosis.findings, reasons, strict=True)
    return remaining, tuple((finding, reason) for finding, reason in both if reason)


def _reason(finding: Finding, run: Run, settings: Settings) -> str:
    if finding.cause in settings.ignore:
        return f"by `ignore` ({settings.origin('ignore')})"
    costs_little = finding.seconds < settings.min_share * max(run.trained, 1e-9)
    if costs_little and finding.fault and not finding.grows and "min_share" in settings.lines:
        return f"by `min_share` ({settings.origin('min_share')})"
    return ""


class _Comments:
    """`# unslow: ignore[cause]` in the sources as they were recorded."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._parsed: dict[str, Source | None] = {}

    def reason(self, finding: Finding) -> str:
        where = finding.location
        if where is None or "unslow:" not in self._run.sources.get(where.file, ""):
            return ""
        source = self._source(where.file)
        spot = Spot(where.line, 0, "", "")
        if source is None or not source.ignored(spot, finding.cause):
            return ""
        return f"by a comment at {where}"

    def _source(self, file: str) -> Source | None:
        if file not in self._parsed:
            try:
                self._parsed[file] = Source(file, self._run.sources[file])
            except (SyntaxError, ValueError, RecursionError):
                self._parsed[file] = None
        return self._parsed[file]
