"""Which fix belongs to which finding: asks each cause, never decides itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unslow.cause import Cause
from unslow.model import Finding, Fix, Location, Refusal, Run


def fixes_for(
    findings: Sequence[Finding], run: Run, causes: Sequence[Cause]
) -> Mapping[int, Fix | Refusal]:
    """The fix, or the reason why there is none, for each finding that its cause could fix."""
    known = {cause.id: cause for cause in causes}
    planned: dict[int, Fix | Refusal] = {}
    for index, finding in enumerate(findings):
        cause = known.get(finding.cause)
        if cause is None or type(cause).fix is Cause.fix or not finding.fault:
            continue
        answer = _plan(cause, finding, run)
        if answer is not None:
            planned[index] = answer
    return planned


def is_library(file: str) -> bool:
    """Whether a file belongs to an installed library, which is neither edited nor copied for a trial."""
    return "site-packages" in file or "dist-packages" in file


def _plan(cause: Cause, finding: Finding, run: Run) -> Fix | Refusal | None:
    from unslow.fix.edit.script import CannotEdit, Script

    where = finding.location
    text = run.sources.get(where.file) if where is not None else None
    if where is None or text is None:
        return Refusal("the source of this line was not kept with the run", where)
    if is_library(where.file):
        return Refusal(
            f"{where.file} belongs to an installed library, which is never edited", where
        )
    try:
        return cause.fix(finding, Script(where.file, text))
    except CannotEdit as problem:
        return Refusal(
            problem.reason, Location(where.file, problem.line) if problem.line else where
        )
