"""SARIF 2.1.0 for code scanning: causes are rules, findings with a line are results."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from urllib.parse import quote

from unslow.report import words
from unslow.report.rows import FindingRow, LocationRow
from unslow.report.words import Row

ROOT = "SRCROOT"
SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def dumps(view: Row) -> str:
    return json.dumps(log_of(view), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def log_of(view: Row) -> Row:
    rules = _rules(view)
    driver = {"name": "unslow", "version": view["unslow"], "rules": rules}
    numbers = {rule["id"]: number for number, rule in enumerate(rules)}
    seen: Counter[str] = Counter()
    placed = [
        (finding, where)
        for finding in view["findings"]
        if (where := finding["location"] or _main_loop(view))
    ]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "invocations": [_invocation(view)],
                "originalUriBaseIds": {
                    ROOT: {"description": {"text": "The directory the training ran in."}}
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, where, numbers, seen) for finding, where in placed],
            }
        ],
    }


def _main_loop(view: Row) -> LocationRow | None:
    """Code scanning needs a place: what belongs to no line is shown at the longest loop."""
    longest = max(view["loops"], key=lambda loop: float(loop["seconds"]), default=None)
    return longest["location"] if longest else None


def _rules(view: Row) -> list[Row]:
    """All causes, and those of findings whose plugin is no longer there."""
    known = {rule["id"] for rule in view["rules"]}
    strangers = {finding["cause"] for finding in view["findings"]} - known
    return [
        *(_rule(rule["id"], rule["title"], rule["words"]) for rule in view["rules"]),
        *(_rule(each, each, each) for each in sorted(strangers)),
    ]


def _rule(identifier: str, title: str, text: str) -> Row:
    name = "".join(part.capitalize() for part in re.split(r"[^0-9A-Za-z]+", identifier))
    return {
        "id": identifier,
        "name": name,
        "shortDescription": {"text": title},
        "fullDescription": {"text": title},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": "warning"},
        "properties": {
            "tags": ["performance", "tensorflow"],
            "precision": "high",
            "problem.severity": "warning",
        },
    }


def _invocation(view: Row) -> Row:
    ok = view["ended"] == "exit 0"
    notes = [f"{each['cause']} was not judged: {each['reason']}" for each in view["not_judged"]]
    notes += [f"probe {lost['probe']} was lost: {lost['reason']}" for lost in view["lost_probes"]]
    if not view["loops"]:
        notes += [finding["title"] for finding in view["findings"] if not finding["location"]]
    return {
        "executionSuccessful": ok,
        "arguments": view["command"],
        "startTimeUtc": view["started"].replace("+00:00", "Z"),
        "toolExecutionNotifications": [
            {"level": "note", "message": {"text": text}} for text in [*notes, *view["notes"]]
        ],
    }


def _result(
    finding: FindingRow, where: LocationRow, numbers: dict[str, int], seen: Counter[str]
) -> Row:
    result: Row = {
        "ruleId": finding["cause"],
        "ruleIndex": numbers[finding["cause"]],
        "level": _level(finding),
        "kind": "fail" if finding["fault"] else "informational",
        "message": {"text": _message(finding)},
        "locations": [_location(where)],
        "partialFingerprints": {"unslow/v1": _fingerprint(finding["cause"], where, seen)},
        "properties": {
            "seconds": finding["seconds"],
            "share": finding["share"],
            "grows": finding["grows"],
            "certainty": finding["certainty"],
        },
    }
    if finding["share"] > 0:
        result["rank"] = round(100 * finding["share"], 1)
    return result


def _level(finding: FindingRow) -> str:
    """An informational result must have the level none (SARIF 3.27.10)."""
    if not finding["fault"]:
        return "none"
    return "error" if finding["share"] >= 0.25 or finding["grows"] else "warning"


def _message(finding: FindingRow) -> str:
    parts = [f"{finding['title'].rstrip('.')}."]
    if finding["seconds"] > 0:
        parts.append(
            f"It costs {words.seconds(finding['seconds'])} ({words.share(finding['share'])})."
        )
    if finding["forecast"] and finding["forecast"]["text"]:
        parts.append(f"Later: {finding['forecast']['text'].rstrip('.')}.")
    if finding["fix"]:
        parts.append(f"Fix: {finding['fix']['title'].rstrip('.')} (unslow fix).")
    elif finding["advice"]:
        parts.append(f"Do: {finding['advice'].rstrip('.')}.")
    return " ".join(parts)


def _location(location: LocationRow) -> Row:
    path = location["file"].replace("\\", "/")
    artifact = (
        {"uri": f"file://{quote(path)}"}
        if path.startswith("/")
        else {"uri": quote(path), "uriBaseId": ROOT}
    )
    region: Row = {"startLine": max(1, location["line"])}
    if location["code"]:
        region["snippet"] = {"text": location["code"]}
    physical = {"artifactLocation": artifact, "region": region}
    named: Row = {"physicalLocation": physical}
    if location["function"]:
        named["logicalLocations"] = [{"name": location["function"], "kind": "function"}]
    return named


def _fingerprint(cause: str, where: LocationRow, seen: Counter[str]) -> str:
    """Stable when lines move: made of the code, not of its line number; duplicates are numbered."""
    key = "\0".join((cause, where["file"], where["function"], where["code"]))
    digest = hashlib.sha256(key.encode()).hexdigest()[:32]
    seen[digest] += 1
    return f"{digest}:{seen[digest]}"
