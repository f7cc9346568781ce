"""Turns a diagnosis into the one plain dict that every report is written from; only here is computed."""

from __future__ import annotations

import math
import numbers
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import PurePath
from typing import Any

from unslow import cause
from unslow.model import Diagnosis, Proof, Run
from unslow.report.view.account import account_of
from unslow.report.view.charts import step_charts
from unslow.report.view.events import graphs_of, traces_of, workers_of
from unslow.report.view.findings import finding_of
from unslow.report.view.kernels import kernels_of
from unslow.report.view.loops import loop_of
from unslow.report.view.machine import (
    ended_of,
    hot_lines,
    lost_probes,
    memory_of,
    processes_of,
    seen_instead,
)
from unslow.report.view.memory import memory_charts
from unslow.report.view.memory_account import memory_account_of
from unslow.report.view.pipelines import pipelines_of
from unslow.report.view.start import start_of
from unslow.report.view.verdict import verdict_of
from unslow.report.words import plain

SCHEMA = 1

View = dict[str, Any]


def view_of(diagnosis: Diagnosis, proofs: Mapping[int, Proof] | None = None) -> View:
    """Everything a report may say; `proofs` by index of the finding."""
    run = diagnosis.run
    findings = [
        finding_of(run, finding, diagnosis.fixes.get(index), (proofs or {}).get(index))
        for index, finding in enumerate(diagnosis.findings)
    ]
    whole = run.seconds or run.trained
    view = {
        "schema": SCHEMA,
        "unslow": _version(),
        "command": list(run.command),
        "folder": run.folder,
        "started": datetime.fromtimestamp(run.started, timezone.utc).isoformat(timespec="seconds"),
        "seconds": run.seconds,
        "training_seconds": run.trained,
        "steps": run.steps,
        "ended": run.ended,
        "how": ended_of(run),
        "verdict": verdict_of(diagnosis, findings),
        "loops": [loop_of(run, loop) for loop in run.loops],
        "findings": findings,
        "not_judged": [
            {"cause": each.cause, "reason": each.reason} for each in diagnosis.not_judged
        ],
        "account": account_of(diagnosis.account),
        "memory_account": memory_account_of(diagnosis.memory),
        "unexplained_seconds": diagnosis.unexplained,
        "unexplained_share": diagnosis.unexplained / run.trained if run.trained > 0 else 0.0,
        "own_cost": {
            "seconds": diagnosis.own_seconds,
            "share": diagnosis.own_seconds / whole if whole > 0 else 0.0,
            "peak_rss_bytes": diagnosis.own_peak_bytes,
        },
        "healthy": diagnosis.healthy,
        "memory": memory_of(run),
        "hot_lines": hot_lines(run),
        "processes": processes_of(run),
        "lost_probes": lost_probes(run),
        "seen_instead": seen_instead(run),
        "notes": list(run.notes),
        "rules": _rules(),
        "cwd": run.cwd,
        "command_line": command_line(run.command),
        "workers": workers_of(run),
        "start": start_of(run),
        "pipelines": pipelines_of(run),
        "kernels": kernels_of(run),
        "charts": {
            "steps": step_charts(run, findings),
            "memory": memory_charts(run),
            "traces": traces_of(run),
            "graphs": graphs_of(run),
        },
        "versions": _versions(run),
    }
    cleaned: View = clean(view)
    return cleaned


def command_line(command: Sequence[str]) -> str:
    """The command as one would type it: of the program only its name, since its folder is this machine's."""
    return shlex.join([PurePath(command[0]).name, *command[1:]]) if command else ""


def clean(value: Any) -> Any:
    """The same data as JSON can carry it: no surrogates, no control characters, no NaN, no NumPy scalars."""
    kind = type(value)
    if kind is float:  # most of a view are the points of charts, and the checks below are slow
        return value if math.isfinite(value) else None
    if kind is int or kind is bool or value is None:
        return value
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {plain(str(key)): clean(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [clean(each) for each in value]
    return plain(str(value))


def _rules() -> list[dict[str, Any]]:
    """Every cause there is, fired or not: rule ids of code scanning must not come and go."""
    return [{"id": each.id, "title": each.title, "words": each.words} for each in cause.load()[0]]


def _version() -> str:
    try:
        return version("unslow")
    except PackageNotFoundError:  # run from a source folder
        return "0"


def _versions(run: Run) -> dict[str, str]:
    return {
        name: number
        for process in run.processes
        for name, number in process.versions.items()
        if number
    }
