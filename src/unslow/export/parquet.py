"""The step table as Parquet, one row per recorded row, written by DuckDB (extra `scale`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unslow.export import need
from unslow.facts.json_object import JsonObject
from unslow.model import Diagnosis, Loop, Phase, Run
from unslow.report.view import clean

COLUMNS: dict[str, type] = {
    "loop": np.int32,
    "line": object,
    "style": object,
    "process": np.int32,
    "worker": object,
    "step": np.int64,
    "count": np.int64,
    "end_seconds": float,
    "seconds": float,
    "low_seconds": float,
    "high_seconds": float,
    **{f"{phase.name.lower()}_seconds": float for phase in Phase},
}
_TYPES: dict[type, str] = {
    np.int32: "INTEGER",
    np.int64: "BIGINT",
    float: "DOUBLE",
    object: "VARCHAR",
}


def write(diagnosis: Diagnosis, path: Path) -> None:
    duckdb = need("duckdb", "duckdb", "scale", "parquet")
    steps = table_of(diagnosis.run)  # noqa: F841 - DuckDB finds it by the variable's name
    # The types are named: without a row DuckDB would guess them from nothing.
    chosen = ", ".join(f'"{name}"::{_TYPES[kind]} AS "{name}"' for name, kind in COLUMNS.items())
    target = str(path).replace("'", "''")
    with duckdb.connect() as connection:
        try:
            connection.execute(
                f"COPY (SELECT {chosen} FROM steps) TO '{target}' (FORMAT parquet, COMPRESSION "
                "zstd)"
            )
        except duckdb.IOException as problem:
            raise OSError(str(problem)) from None


def table_of(run: Run) -> JsonObject:
    """Columns of equal length: a row is one step, or `count` merged ones in long runs."""
    parts = [_rows(run, number, loop) for number, loop in enumerate(run.loops)]
    return {
        name: np.concatenate(
            [np.empty(0, dtype=kind), *(np.asarray(part[name], dtype=kind) for part in parts)]
        )
        for name, kind in COLUMNS.items()
    }


def _rows(run: Run, number: int, loop: Loop) -> JsonObject:
    rows = len(loop.end)
    worker = run.process_of(loop).worker
    same = {
        "loop": number,
        "line": str(loop.location),
        "style": loop.style,
        "process": loop.process,
        "worker": worker,
    }
    return {
        **{name: np.full(rows, clean(value), dtype=COLUMNS[name]) for name, value in same.items()},
        "step": loop.number,
        "count": loop.count,
        "end_seconds": loop.end,
        "seconds": loop.seconds,
        "low_seconds": loop.low,
        "high_seconds": loop.high,
        **{f"{phase.name.lower()}_seconds": loop.phases[:, phase] for phase in Phase},
    }
