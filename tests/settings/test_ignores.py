"""Findings that the user asked to ignore: taken out, and counted."""

from __future__ import annotations

from dataclasses import replace

from tests.report.gallery import retracing, several
from unslow.model import Diagnosis
from unslow.settings import Settings
from unslow.settings.ignores import without_ignored


def with_comment(diagnosis: Diagnosis, comment: str) -> Diagnosis:
    source = diagnosis.run.sources["train.py"]
    line = "    loss = step(x, y, scale)"
    sources = {"train.py": source.replace(line, f"{line}  {comment}")}
    return replace(diagnosis, run=replace(diagnosis.run, sources=sources))


def test_a_comment_at_the_line_ignores_a_recorded_finding() -> None:
    diagnosis, ignored = without_ignored(
        with_comment(retracing(), "# unslow: ignore[retracing]"), Settings()
    )
    assert not diagnosis.findings and not diagnosis.fixes
    assert [(finding.cause, why) for finding, why in ignored] == [
        ("retracing", "by a comment at train.py:12")
    ]


def test_a_comment_for_another_cause_ignores_nothing() -> None:
    diagnosis, ignored = without_ignored(
        with_comment(retracing(), "# unslow: ignore[host-sync]"), Settings()
    )
    assert diagnosis.findings and not ignored


def test_fixes_stay_with_their_findings() -> None:
    before = retracing()
    extra = replace(before.findings[0], cause="host-sync")
    both = replace(before, findings=(extra, *before.findings), fixes={1: before.fixes[0]})
    diagnosis, _ = without_ignored(both, Settings(ignore=("host-sync",)))
    assert diagnosis.fixes == {0: before.fixes[0]}


def test_a_share_in_the_file_leaves_out_what_costs_less() -> None:
    settings = Settings(min_share=0.05, lines={"min_share": 4})
    diagnosis, ignored = without_ignored(several(), settings)
    assert [finding.cause for finding, _ in ignored] == ["host-sync"]
    assert "host-sync" not in {finding.cause for finding in diagnosis.findings}
