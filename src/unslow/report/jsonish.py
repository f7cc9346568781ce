"""The JSON that other tools rely on: documented keys of the view, as schema.json beside this file says."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

KEYS = (
    "schema",
    "unslow",
    "command",
    "ended",
    "started",
    "seconds",
    "training_seconds",
    "steps",
    "verdict",
    "loops",
    "findings",
    "not_judged",
    "account",
    "memory_account",
    "unexplained_seconds",
    "own_cost",
    "healthy",
    "memory",
    "hot_lines",
    "processes",
    "lost_probes",
    "notes",
    "versions",
)
LOOP_KEYS = (
    "line",
    "update",
    "style",
    "process",
    "worker",
    "steps",
    "seconds",
    "typical",
    "first",
    "updates_per_step",
    "phases",
    "trend",
)
FINDING_KEYS = (
    "cause",
    "title",
    "location",
    "seconds",
    "share",
    "frees_bytes",
    "grows",
    "forecast",
    "certainty",
    "fault",
    "evidence",
    "advice",
    "merged",
    "fix",
    "refusal",
    "proof",
)
LOCATION_KEYS = ("file", "line", "function", "code")
EVIDENCE_KEYS = ("label", "value", "unit")


def dumps(view: dict[str, Any]) -> str:
    return json.dumps(documented(view), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def documented(view: dict[str, Any]) -> dict[str, Any]:
    """The part of the view that the schema promises."""
    chosen = _only(view, KEYS)
    chosen["loops"] = [_only(loop, LOOP_KEYS) for loop in view["loops"]]
    chosen["findings"] = [_finding(finding) for finding in view["findings"]]
    return chosen


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of what `dumps` writes."""
    text = files("unslow.report").joinpath("schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _finding(finding: dict[str, Any]) -> dict[str, Any]:
    chosen = _only(finding, FINDING_KEYS)
    chosen["evidence"] = [_only(each, EVIDENCE_KEYS) for each in finding["evidence"]]
    if finding["location"]:
        chosen["location"] = _only(finding["location"], LOCATION_KEYS)
    return chosen


def _only(data: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: data[key] for key in keys}
