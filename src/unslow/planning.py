"""Asks each cause for the fix of its findings, and composes several fixes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from unslow.cause import Cause, load
from unslow.fix.edit.script import CannotEdit, Script
from unslow.model import Diagnosis, Finding, Fix, Location, Refusal, Run


def fixes_for(
    findings: Sequence[Finding], run: Run, causes: Sequence[Cause]
) -> Mapping[int, Fix | Refusal]:
    """The fix, or the reason why there is none, for each finding that its cause could fix."""
    known = {cause.id: cause for cause in causes if type(cause).fix is not Cause.fix}
    planned: dict[int, Fix | Refusal] = {}
    for index, finding in enumerate(findings):
        if finding.cause not in known or not finding.fault:
            continue
        answer = _plan(known[finding.cause], finding, run)
        if answer is not None:
            planned[index] = answer
    return planned


def is_library(file: str) -> bool:
    """Whether a file belongs to an installed library: never edited, never copied."""
    return "site-packages" in file or "dist-packages" in file


def _plan(cause: Cause, finding: Finding, run: Run) -> Fix | Refusal | None:
    where = finding.location
    if where is None or where.file not in run.sources:
        return Refusal("the source of this line was not kept with the run", where)
    if is_library(where.file):
        why = f"{where.file} belongs to an installed library, which is never edited"
        return Refusal(why, where)
    try:
        script = Script(where.file, run.sources[where.file], run.sources)
        return _fix(cause, finding, script)
    except CannotEdit as problem:
        return Refusal(problem.reason, Location(where.file, problem.line or where.line))


def _fix(cause: Cause, finding: Finding, script: Script) -> Fix | Refusal | None:
    """What a cause answers; a mistake in it becomes a refusal that names it."""
    try:
        return cause.fix(finding, script)
    except CannotEdit:
        raise
    except Exception as problem:  # noqa: BLE001 - the fence of a cause: the report has the rest
        why = f"making the fix failed, a mistake in unslow: {type(problem).__name__}: {problem}"
        return Refusal(why, finding.location)


@dataclass(frozen=True)
class Step:
    """One fix with the texts before and after it, earlier fixes included; or a refusal."""

    finding: Finding
    fix: Fix | Refusal
    before: Mapping[str, str]
    after: Mapping[str, str]


class Composition:
    """Fixes in rank order, each made on the accepted ones before it."""

    def __init__(self, diagnosis: Diagnosis, only: str | None = None) -> None:
        self._diagnosis = diagnosis
        self._only = only
        self.texts: dict[str, str] = {}

    def steps(self) -> Iterator[Step]:
        """One step per fix: two findings at one line, in two parts of the run, have the same."""
        causes = {cause.id: cause for cause in load()[0]}
        seen: list[Fix] = []
        for index, finding in enumerate(self._diagnosis.findings):
            planned = self._diagnosis.fixes.get(index)
            is_wanted = not self._only or finding.cause == self._only
            if planned is None or not is_wanted or planned in seen:
                continue
            if isinstance(planned, Fix):
                seen.append(planned)
                planned = self._again(causes[finding.cause], finding, planned)
            new = planned.files if isinstance(planned, Fix) else {}
            yield Step(finding, planned, dict(self.texts), {**self.texts, **new})

    def accept(self, step: Step) -> None:
        self.texts = dict(step.after)

    def _again(self, cause: Cause, finding: Finding, planned: Fix) -> Fix | Refusal:
        """The same fix, made on the texts as edited so far."""
        where = finding.location
        if where is None or self.texts.keys().isdisjoint(planned.files):
            return planned
        recorded = self._diagnosis.run.sources
        texts = {**recorded, **self.texts}
        try:
            script = Script.continued(where.file, recorded[where.file], texts[where.file], texts)
            fix = _fix(cause, finding, script)
        except CannotEdit as reason:
            return Refusal(f"it overlaps with a fix above: {reason}", where)
        return fix or Refusal("a fix above has already changed this place", where)
