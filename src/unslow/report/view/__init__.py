"""Turns a diagnosis into the plain data that every report is written from."""

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
from unslow.analyse.workers.assemble import job_of
from unslow.model import Diagnosis, Finding, Proof, Run
from unslow.report.view.account import account_of
from unslow.report.view.charts import step_charts
from unslow.report.view.events import graphs_of, traces_of, workers_of
from unslow.report.view.explanations import explanations_of
from unslow.report.view.findings import finding_of
from unslow.report.view.job import job_view
from unslow.report.view.kernels import kernels_of
from unslow.report.view.line_times import line_times
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
from unslow.report.view.source import sources_of
from unslow.report.view.start import start_of
from unslow.report.view.timeline import timeline_of
from unslow.report.view.verdict import unexplained_share, verdict_of
from unslow.report.words import Row, plain

SCHEMA = 1


def view_of(
    diagnosis: Diagnosis,
    proofs: Mapping[int, Proof] | None = None,
    ignored: Sequence[tuple[Finding, str]] = (),
) -> Row:
    """Everything a report may say: `proofs` by index of the finding, `ignored` with the reason."""
    run = diagnosis.run
    proofs = proofs or {}
    findings = [
        finding_of(run, finding, diagnosis.fixes.get(index), proofs.get(index))
        for index, finding in enumerate(diagnosis.findings)
    ]
    whole = run.seconds or run.trained
    rules, times = _rules(), line_times(run)
    job = job_view(job_of(run))
    shown = frozenset(job["shown"]) if job else frozenset()
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
        "ignored": [_ignored(finding, reason) for finding, reason in ignored],
        "next": next_commands(run, findings),
        "account": account_of(diagnosis.account),
        "memory_account": memory_account_of(diagnosis.memory),
        "unexplained_seconds": diagnosis.unexplained,
        "unexplained_share": unexplained_share(diagnosis),
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
        "at_lowest_rate": run.at_lowest_rate,
        "rules": rules,
        "explanations": explanations_of(findings, rules),
        "sources": sources_of(run, diagnosis.findings, times),
        "cwd": run.cwd,
        "command_line": command_line(run.command),
        "workers": workers_of(run),
        "job": job,
        "start": start_of(run),
        "pipelines": pipelines_of(run),
        "kernels": kernels_of(run),
        "charts": {
            "steps": step_charts(run, findings, shown),
            "memory": memory_charts(run, shown),
            "traces": traces_of(run),
            "graphs": graphs_of(run),
            "timeline": timeline_of(run, diagnosis.findings, times),
        },
        "versions": _versions(run),
    }
    cleaned: Row = clean(view)
    return cleaned


def _ignored(finding: Finding, reason: str) -> Row:
    return {
        "cause": finding.cause,
        "line": str(finding.location or ""),
        "seconds": finding.seconds,
        "reason": reason,
    }


def next_commands(run: Run, findings: list[Row]) -> list[list[str]]:
    """What to type next, each with its purpose."""
    folder = PurePath(run.folder)
    name = folder.name if folder.parent.name == ".unslow" else str(folder)
    commands = []
    if any(finding["fix"] for finding in findings):
        commands += [
            [f"unslow fix {name}", "see the fix as a diff"],
            [f"unslow fix {name} --prove --apply", "prove it, then write it"],
        ]
    if findings:
        commands.append([f"unslow explain {findings[0]['cause']}", "read what it means"])
    elif run.training:
        script = shlex.join(run.command[1:])
        commands.append([f"unslow whatif {script}", "measure it with other settings"])
    commands.append([f"unslow why {name} --open", "see charts in the browser"])
    return commands


def command_line(command: Sequence[str]) -> str:
    """The command as one would type it, without the folder of the program."""
    return shlex.join([PurePath(command[0]).name, *command[1:]]) if command else ""


def clean(value: Any) -> Any:
    """Data as JSON can carry it: no surrogates, control characters, NaN or NumPy scalars."""
    kind = type(value)
    if kind is float:  # most of a view are points of charts, and the checks below are slow
        return value if math.isfinite(value) else None
    if kind in _AS_THEY_ARE:
        return value
    if isinstance(value, Mapping):
        return {plain(str(key)): clean(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [clean(each) for each in value]
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return clean(float(value))
    return plain(str(value))


_AS_THEY_ARE = (int, bool, type(None))


def _rules() -> list[Row]:
    """Every cause, found or not: rule ids of code scanning must not come and go."""
    return [{"id": each.id, "title": each.title, "words": each.words} for each in cause.load()[0]]


def _version() -> str:
    try:
        return version("unslow")
    except PackageNotFoundError:  # run from a source folder
        return "0"


def _versions(run: Run) -> dict[str, str]:
    found: dict[str, str] = {}
    for process in run.processes:
        found.update(process.versions)
    return {name: number for name, number in found.items() if number}
