"""Turns a diagnosis into the plain data that every report is written from."""

from __future__ import annotations

import math
import numbers
import shlex
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import PurePath
from typing import Any

from unslow import cause
from unslow.analyse.grouping import known
from unslow.analyse.input.data_times import NONE, data_times
from unslow.analyse.stats.robust import ratio
from unslow.analyse.workers.assemble import job_of
from unslow.analyse.workers.members import unread
from unslow.model import Diagnosis, Finding, Proof, Run, line_text
from unslow.report.rows import FindingRow, LoopRow
from unslow.report.view.account import account_of
from unslow.report.view.charts import step_charts
from unslow.report.view.events import graphs_of, traces_of, workers_of
from unslow.report.view.explanations import explanations_of
from unslow.report.view.fence import Fence
from unslow.report.view.findings import finding_of, outline_of
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
    fence = Fence()
    findings = _findings(diagnosis, proofs, fence)
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
        "loops": _loops(run, fence),
        "findings": findings,
        "not_judged": [
            {"cause": each.cause, "reason": each.reason} for each in diagnosis.not_judged
        ],
        "ignored": [_ignored(finding, reason) for finding, reason in ignored],
        "next": next_commands(run, findings),
        "account": fence.part("the account", lambda: account_of(diagnosis.account), None),
        "memory_account": fence.part(
            "the account of memory", lambda: memory_account_of(diagnosis.memory), None
        ),
        "unexplained_seconds": diagnosis.unexplained,
        "unexplained_share": unexplained_share(diagnosis),
        "own_cost": {
            "seconds": diagnosis.own_seconds,
            "share": ratio(diagnosis.own_seconds, whole),
            "peak_rss_bytes": diagnosis.own_peak_bytes,
        },
        "healthy": diagnosis.healthy,
        "memory": fence.part("the memory", lambda: memory_of(run), []),
        "hot_lines": fence.part("the busiest lines", lambda: hot_lines(run), []),
        "processes": fence.part("the processes", lambda: processes_of(run), []),
        "lost_probes": fence.part("the lost probes", lambda: lost_probes(run), []),
        "seen_instead": fence.part("what was seen instead", lambda: seen_instead(run), []),
        "at_lowest_rate": run.at_lowest_rate,
        "rules": rules,
        "explanations": explanations_of(findings, rules),
        "sources": sources_of(run, diagnosis.findings, times),
        "cwd": run.cwd,
        "command_line": command_line(run.command),
        "workers": fence.part("the workers", lambda: workers_of(run), []),
        "job": job,
        "start": fence.part("the first step", lambda: start_of(run), None),
        "pipelines": fence.part("the pipelines", lambda: pipelines_of(run), []),
        "kernels": fence.part("the kernels", lambda: kernels_of(run), []),
        "charts": {
            **_charts(run, findings, shown, fence),
            "timeline": timeline_of(run, diagnosis.findings, times),
        },
        "versions": _versions(run),
    }
    view["notes"] = [*run.notes, *unread(run), *diagnosis.failed, *fence.failed]
    cleaned: Row = clean(view)
    return cleaned


def _findings(diagnosis: Diagnosis, proofs: Mapping[int, Proof], fence: Fence) -> list[FindingRow]:
    """The findings; one whose details fail keeps its cause, its title and its cost."""
    run, rows = diagnosis.run, list[FindingRow]()
    for index, finding in enumerate(diagnosis.findings):
        make = partial(finding_of, run, finding, diagnosis.fixes.get(index), proofs.get(index))
        bare = outline_of(run, finding)
        rows.append(fence.part(f"the details of {finding.cause}", make, bare))
    return rows


def _loops(run: Run, fence: Fence) -> list[LoopRow]:
    data = fence.part("the time that data takes", lambda: data_times(run), {})
    made = [
        fence.part(
            f"loop {number}",
            partial(loop_of, run, loop, data.get(loop, NONE)),
            None,
        )
        for number, loop in enumerate(run.loops, 1)
    ]
    return known(made)


def _charts(run: Run, findings: list[FindingRow], shown: Collection[int], fence: Fence) -> Row:
    return {
        "steps": fence.part("the chart of steps", lambda: step_charts(run, findings, shown), []),
        "memory": fence.part("the chart of memory", lambda: memory_charts(run, shown), []),
        "traces": fence.part("the chart of traces", lambda: traces_of(run), []),
        "graphs": fence.part("the chart of graphs", lambda: graphs_of(run), []),
    }


def _ignored(finding: Finding, reason: str) -> Row:
    return {
        "cause": finding.cause,
        "line": line_text(finding.location),
        "seconds": finding.seconds,
        "reason": reason,
    }


def next_commands(run: Run, findings: list[FindingRow]) -> list[list[str]]:
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
    return {name: number for name, number in run.versions.items() if number}
