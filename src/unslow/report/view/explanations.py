"""The pages of the causes that a run has, so that a report can be read without a network."""

from __future__ import annotations

from unslow.cause import HEADINGS
from unslow.report.rows import FindingRow
from unslow.report.words import Row


def explanations_of(findings: list[FindingRow], rules: list[Row]) -> list[Row]:
    """Each cause found, in the order of the findings, with the text below each of its headings."""
    known = {rule["id"]: rule for rule in rules}
    found = dict.fromkeys(finding["cause"] for finding in findings)
    return [_explained(known[cause]) for cause in found if cause in known]


def _explained(rule: Row) -> Row:
    parts: list[Row] = []
    for line in rule["words"].splitlines():
        if line in HEADINGS:
            parts.append({"heading": line, "paragraphs": [""]})
        elif not parts:
            continue
        elif line.strip():
            parts[-1]["paragraphs"][-1] += f" {line.strip()}"
        else:
            parts[-1]["paragraphs"].append("")
    for part in parts:
        part["paragraphs"] = [text.strip() for text in part["paragraphs"] if text.strip()]
    return {"id": rule["id"], "title": rule["title"], "parts": parts}
