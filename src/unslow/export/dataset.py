"""Many runs as one partitioned Parquet data set, written by DuckDB (extra `scale`).

    runs/week=2026-W47/<run>.parquet        one row per run
    findings/week=2026-W47/<run>.parquet    one row per finding
    workers/week=2026-W47/<run>.parquet     one row per worker of a job
    steps/week=2026-W47/<run>.parquet       one row per recorded row of steps

A run that is exported again replaces its own files, so that a data set can be kept up to date.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from unslow.analyse.workers.assemble import job_of
from unslow.export import need, parquet
from unslow.facts.json_object import JsonObject
from unslow.model import Diagnosis, Run, line_text
from unslow.report.view import clean, command_line
from unslow.report.view.job import job_view
from unslow.runfolder import layout

_TEXT, _NUMBER, _WHOLE, _FLAG = "VARCHAR", "DOUBLE", "BIGINT", "BOOLEAN"
_KEYS = {"run": _TEXT, "commit": _TEXT}
TABLES: dict[str, dict[str, str]] = {
    "runs": {
        **_KEYS,
        "started": "TIMESTAMP",
        "command": _TEXT,
        "ended": _TEXT,
        "seconds": _NUMBER,
        "training_seconds": _NUMBER,
        "steps": _WHOLE,
        "step_seconds": _NUMBER,  # typical, of its longest loop
        "workers": _WHOLE,
        "healthy": _FLAG,
    },
    "findings": {
        **_KEYS,
        "cause": _TEXT,
        "line": _TEXT,
        "title": _TEXT,
        "seconds": _NUMBER,
        "share": _NUMBER,  # of the training
        "fault": _FLAG,
    },
    "workers": {
        **_KEYS,
        "worker": _TEXT,
        "host": _TEXT,
        "state": _TEXT,
        "steps": _WHOLE,
        "step_seconds": _NUMBER,
        "own_seconds": _NUMBER,
        "wait_seconds": _NUMBER,
        "caused_seconds": _NUMBER,  # that the others waited for it
        "last_share": _NUMBER,  # of its steps in which it was last
        "late": _FLAG,  # the job as a whole waits for it
        "excess": _TEXT,  # what it does more of than the others
    },
}


def add(diagnosis: Diagnosis, folder: Path) -> list[Path]:
    """Put one run into a data set; returns the files that hold it."""
    duckdb = need("duckdb", "duckdb", "scale", "parquet")
    run = diagnosis.run
    keys = {"run": Path(run.folder).name, "commit": _commit(run)}
    tables = {
        "runs": [{**keys, **_run_row(diagnosis)}],
        "findings": [{**keys, **row} for row in _finding_rows(diagnosis)],
        "workers": [{**keys, **row} for row in _worker_rows(run)],
    }
    written = []
    with duckdb.connect() as connection:
        for name, rows in tables.items():
            target = _target(folder, name, run, keys["run"])
            _copy(connection, TABLES[name], rows, target)
            written.append(target)
    target = _target(folder, "steps", run, keys["run"])
    parquet.write(diagnosis, target)
    return [*written, target]


def _target(folder: Path, table: str, run: Run, name: str) -> Path:
    week = datetime.fromtimestamp(run.started, timezone.utc).strftime("%G-W%V")
    place = folder / table / f"week={week}"
    place.mkdir(parents=True, exist_ok=True)
    return place / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', name)}.parquet"


def _copy(
    connection: Any, types: Mapping[str, str], rows: Sequence[Mapping[str, object]], target: Path
) -> None:
    columns = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
    connection.execute(f"CREATE OR REPLACE TEMP TABLE rows ({columns})")
    marks = ", ".join("?" for _ in types)
    values = [[clean(row[name]) for name in types] for row in rows]
    if values:
        connection.executemany(f"INSERT INTO rows VALUES ({marks})", values)
    path = str(target).replace("'", "''")
    connection.execute(f"COPY rows TO '{path}' (FORMAT parquet, COMPRESSION zstd)")


def _run_row(diagnosis: Diagnosis) -> JsonObject:
    run = diagnosis.run
    longest = max(run.loops, key=lambda loop: loop.total, default=None)
    started = datetime.fromtimestamp(run.started, timezone.utc)
    return {
        "started": started.strftime("%Y-%m-%d %H:%M:%S"),
        "command": command_line(run.command),
        "ended": run.ended,
        "seconds": run.seconds,
        "training_seconds": run.trained,
        "steps": run.steps,
        "step_seconds": longest.typical() if longest is not None else None,
        "workers": len({loop.process for loop in run.loops}),
        "healthy": diagnosis.healthy,
    }


def _finding_rows(diagnosis: Diagnosis) -> list[JsonObject]:
    trained = max(diagnosis.run.trained, 1e-9)
    return [
        {
            "cause": finding.cause,
            "line": line_text(finding.location),
            "title": finding.title,
            "seconds": finding.seconds,
            "share": finding.seconds / trained,
            "fault": finding.fault,
        }
        for finding in diagnosis.findings
    ]


def _worker_rows(run: Run) -> list[JsonObject]:
    job = job_of(run)
    view = job_view(job)
    if job is None or view is None:
        return []
    late = {job.workers[row].name for row in job.stragglers}
    return [{**row, "worker": row["name"], "late": row["name"] in late} for row in view["workers"]]


def _commit(run: Run) -> str:
    """The commit of the working directory when the run began, if it was in a repository."""
    try:
        return str(layout.read_header(run.folder).get("commit") or "")
    except layout.Unreadable:
        return ""
