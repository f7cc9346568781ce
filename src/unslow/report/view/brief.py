"""What a person or a coding agent needs to cure a finding for which no diff was written."""

from __future__ import annotations

import shlex

from unslow.cause import HEADINGS, Cause, by_id
from unslow.model import Diagnosis, Finding, Fix, Location, Refusal, Run, line_text
from unslow.report.view.findings import finding_of
from unslow.report.words import Row
from unslow.syntax import Source

_LONGEST = 80  # lines of a function that are shown whole; of a longer one, those around the line
_AROUND = 20  # lines before and after, where there is no function or it is too long
_NO_MOVE = "no automatic edit exists for this cause"
_NO_MOVE_HERE = "no automatic edit exists for this form of the cause"


def briefs_of(diagnosis: Diagnosis) -> list[Row]:
    """One brief for every problem without a diff, in the order of the report."""
    found = []
    for index, finding in enumerate(diagnosis.findings):
        answer = diagnosis.fixes.get(index)
        if finding.fault and not isinstance(answer, Fix):
            found.append(_brief(diagnosis.run, finding, answer))
    return found


def _brief(run: Run, finding: Finding, refusal: Refusal | None) -> Row:
    shown = finding_of(run, finding, None, None)
    return {
        "cause": shown["cause"],
        "title": shown["title"],
        "location": shown["location"],
        "seconds": shown["seconds"],
        "share": shown["share"],
        "frees_bytes": shown["frees_bytes"],
        "evidence": shown["evidence"],
        "advice": shown["advice"],
        "code": _code(run, finding.location),
        "no_diff": refusal.reason if refusal else no_edit(finding.cause),
        "obstacle": line_text(refusal.location) if refusal else "",
        "cure": _the_fix(finding.cause),
        "prove": f"unslow prove {shlex.quote(run.folder)} --diff my.patch",
    }


def no_edit(cause: str) -> str:
    """What to say of a finding that its cause has no edit for."""
    known = by_id(cause)
    return _NO_MOVE if known is None or type(known).fix is Cause.fix else _NO_MOVE_HERE


def _the_fix(cause: str) -> str:
    """The section of the cause's page that describes the fix."""
    known = by_id(cause)
    heading, following = HEADINGS[2], HEADINGS[3]
    text = known.words if known else ""
    section = text.partition(f"{heading}\n")[2].partition(f"{following}\n")[0]
    return " ".join(section.split())


def _code(run: Run, where: Location | None) -> Row | None:
    """The function around the line as it was recorded, with the number of its first line."""
    text = run.sources.get(where.file) if where else None
    if where is None or not text:
        return None
    first, last = _function(where.file, text, where.line)
    lines = text.splitlines()[first - 1 : last]
    return {"file": where.file, "first": first, "text": "\n".join(lines)}


def _function(path: str, text: str, line: int) -> tuple[int, int]:
    around = max(1, line - _AROUND), line + _AROUND
    try:
        function = Source(path, text).function_around(line)
    except (SyntaxError, ValueError, RecursionError):
        return around
    if function is None:
        return around
    decorators = [decorator.lineno for decorator in function.decorator_list]
    first, last = min([function.lineno, *decorators]), function.end_lineno or line
    return (first, last) if last - first < _LONGEST else around
