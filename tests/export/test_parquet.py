"""The step table, read back by DuckDB."""

from __future__ import annotations

from pathlib import Path

import pytest

from unslow.export import export, parquet
from unslow.model import Phase

from ..report.gallery import GALLERY, retracing

duckdb = pytest.importorskip(
    "duckdb", reason="duckdb is not installed (extra scale): Parquet is not tested"
)


def query(path: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as connection:
        found: list[tuple[object, ...]] = connection.execute(sql.format(f"'{path}'")).fetchall()
        return found


def test_duckdb_reads_every_step_with_its_phases(tmp_path: Path) -> None:
    path = export(retracing(), "parquet", tmp_path / "steps.parquet")
    phases = " + ".join(f"{phase.name.lower()}_seconds" for phase in Phase)
    assert query(
        path,
        f"select count(*), max(step), max(abs({phases} - seconds)) < 1e-9, any_value(line) from {{}}",
    ) == [(300, 300, True, "train.py:10")]


@pytest.mark.parametrize("name", GALLERY)
def test_every_run_has_the_same_columns_and_types(name: str, tmp_path: Path) -> None:
    path = export(GALLERY[name](), "parquet", tmp_path / "steps.parquet")
    described = query(path, "describe select * from {}")
    assert [row[0] for row in described] == list(parquet.COLUMNS)
    assert {row[1] for row in described} == {"INTEGER", "VARCHAR", "BIGINT", "DOUBLE"}


def test_a_quote_in_the_path_is_part_of_the_path(tmp_path: Path) -> None:
    assert export(retracing(), "parquet", tmp_path / "it's.parquet").stat().st_size > 1000


def test_several_loops_are_told_apart(tmp_path: Path) -> None:
    path = export(GALLERY["several"](), "parquet", tmp_path / "steps.parquet")
    assert query(path, "select loop, count(*) from {} group by loop order by loop") == [
        (0, 400),
        (1, 500),
        (2, 400),
    ]
