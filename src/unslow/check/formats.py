"""The reports of `unslow check` as text, JSON, SARIF and GitHub's annotations."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from urllib.parse import quote

import unslow
from unslow.cause import Cause
from unslow.check import Found, Report
from unslow.facts.json_object import JsonObject

_SARIF = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def text(reports: Sequence[Report], causes: Sequence[Cause]) -> str:
    """`file:line:column: cause-id: reason`, and the working form below it."""
    lines = []
    for report, found in _all(reports):
        spot = found.spot
        lines.append(f"{report.file}:{spot.line}:{spot.column}: {found.cause}: {spot.text}")
        lines.append(f"    instead: {spot.instead}")
    return "".join(f"{line}\n" for line in lines)


def as_json(reports: Sequence[Report], causes: Sequence[Cause]) -> str:
    spots = [
        {
            "file": report.file,
            "line": found.spot.line,
            "column": found.spot.column,
            "cause": found.cause,
            "text": found.spot.text,
            "instead": found.spot.instead,
        }
        for report, found in _all(reports)
    ]
    problems = [
        {"file": report.file, "problem": report.problem} for report in reports if report.problem
    ]
    not_judged = [
        {"file": report.file, "cause": item.cause, "reason": item.reason}
        for report in reports
        for item in report.not_judged
    ]
    whole = {
        "schema": 1,
        "files": len(reports),
        "spots": spots,
        "problems": problems,
        "not_judged": not_judged,
    }
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def github(reports: Sequence[Report], causes: Sequence[Cause]) -> str:
    """Workflow commands, which GitHub shows at the lines of a pull request."""
    lines = []
    for report, found in _all(reports):
        spot = found.spot
        place = f"file={_property(report.file)},line={spot.line},col={spot.column}"
        title = _property(f"unslow {found.cause}")
        lines.append(
            f"::warning {place},title={title}::{_data(f'{spot.text}. Instead: {spot.instead}')}"
        )
    return "".join(f"{line}\n" for line in lines)


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")


def sarif(reports: Sequence[Report], causes: Sequence[Cause]) -> str:
    rules = [_rule(cause) for cause in causes]
    numbers = {rule["id"]: number for number, rule in enumerate(rules)}
    seen: Counter[str] = Counter()
    notes = [f"{report.file} {report.problem}" for report in reports if report.problem]
    notes += [
        f"{report.file}: {item.cause} was not judged: {item.reason}"
        for report in reports
        for item in report.not_judged
    ]
    run = {
        "tool": {
            "driver": {
                "name": "unslow",
                "version": unslow.__version__,
                "rules": rules,
            }
        },
        "invocations": [
            {
                "executionSuccessful": not notes,
                "toolExecutionNotifications": [
                    {"level": "warning", "message": {"text": note}} for note in notes
                ],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [_result(report.file, found, numbers, seen) for report, found in _all(reports)],
    }
    log = {"$schema": _SARIF, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=2) + "\n"


def _rule(cause: Cause) -> JsonObject:
    return {
        "id": cause.id,
        "name": "".join(part.capitalize() for part in cause.id.split("-")),
        "shortDescription": {"text": cause.title},
        "help": {"text": cause.words, "markdown": cause.words},
        "defaultConfiguration": {"level": "warning"},
        "properties": {"tags": ["performance", "tensorflow"]},
    }


def _result(file: str, found: Found, numbers: dict[str, int], seen: Counter[str]) -> JsonObject:
    spot = found.spot
    path = PurePath(file)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    key = hashlib.sha256("\0".join((found.cause, file, spot.text)).encode()).hexdigest()[:32]
    seen[key] += 1
    place = {
        "artifactLocation": {"uri": uri},
        "region": {"startLine": spot.line, "startColumn": spot.column},
    }
    return {
        "ruleId": found.cause,
        "ruleIndex": numbers[found.cause],
        "level": "warning",
        "message": {"text": f"{spot.text}. Instead: {spot.instead}"},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"unslow/v1": f"{key}:{seen[key]}"},
    }


def _all(reports: Sequence[Report]) -> Iterator[tuple[Report, Found]]:
    return ((report, found) for report in reports for found in report.found)


FORMATS: dict[str, Callable[[Sequence[Report], Sequence[Cause]], str]] = {
    "text": text,
    "json": as_json,
    "sarif": sarif,
    "github": github,
}
