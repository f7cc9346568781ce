"""What was learnt as plain data, for the table and for JSON."""

from __future__ import annotations

import math

from unslow.facts.json_object import JsonObject
from unslow.proof.whatif.judge import Figure, Row
from unslow.proof.whatif.run import Outcome
from unslow.proof.whatif.setting import Setting

SCHEMA = 1


def view_of(outcome: Outcome) -> JsonObject:
    return {
        "schema": SCHEMA,
        "command": list(outcome.command),
        "line": outcome.trained_at,
        "steps": outcome.steps,
        "examples_per_step": outcome.examples or None,
        "interrupted": outcome.interrupted,
        "as_it_is": _row(outcome.base) if outcome.base else None,
        "settings": [_row(row) for row in outcome.rows],
        "failed": [{**_setting(setting), "reason": why} for setting, why in outcome.failed],
        "does_not_apply": [{**_setting(setting), "reason": why} for setting, why in outcome.absent],
        "not_tried": [_setting(setting) for setting in outcome.untried],
    }


def _setting(setting: Setting | None) -> JsonObject:
    if setting is None:
        return {"name": "as it is", "group": ""}
    return {"name": setting.name, "group": setting.group}


def _row(row: Row) -> JsonObject:
    setting = row.setting
    return {
        **_setting(setting),
        "verdict": row.verdict,
        "speedup": _figure(row.speedup),
        "step_seconds": _figure(row.step),
        "example_seconds": _figure(row.example) if row.example else None,
        "peak_bytes": _figure(row.memory),
        "first_step_seconds": _figure(row.first),
        "less_memory": row.lighter,
        "results": row.results.kind,
        "difference": _number(row.results.difference),
        "noise": _number(row.results.noise),
        "trials": row.trials,
        "changes": setting.changes if setting else "",
        "keep": setting.keep if setting else "",
        "where": setting.where if setting else "",
        "note": setting.note if setting else "",
        "parts": list(setting.parts) if setting else [],
    }


def _figure(figure: Figure) -> dict[str, float | None]:
    return {name: _number(getattr(figure, name)) for name in ("value", "low", "high")}


def _number(value: float | None) -> float | None:
    """JSON has neither NaN nor infinity."""
    return value if value is not None and math.isfinite(value) else None
