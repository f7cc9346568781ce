"""The pages of the causes that a run has, so that a report can be read without a network."""

from __future__ import annotations

import re
from collections import defaultdict

from unslow.cause import HEADINGS
from unslow.report.rows import FindingRow
from unslow.report.words import Row


def explanations_of(findings: list[FindingRow], rules: list[Row]) -> list[Row]:
    """Each cause found, in the order of the findings, with the text below each of its headings."""
    known = {rule["id"]: rule for rule in rules}
    found = dict.fromkeys(finding["cause"] for finding in findings)
    return [_explained(known[cause]) for cause in found if cause in known]


def _explained(rule: Row) -> Row:
    texts: dict[str, list[str]] = defaultdict(list)
    heading = ""
    for line in rule["words"].splitlines():
        heading = line if line in HEADINGS else heading
        texts[heading].append(line)
    parts = [{"heading": name, "paragraphs": _paragraphs(texts[name][1:])} for name in HEADINGS]
    return {"id": rule["id"], "title": rule["title"], "parts": parts}


def _paragraphs(lines: list[str]) -> list[str]:
    """Lines joined, as far as no empty line divides them."""
    joined = "\n".join(map(str.strip, lines)).strip()
    return [" ".join(text.split()) for text in re.split(r"\n\n+", joined)]
