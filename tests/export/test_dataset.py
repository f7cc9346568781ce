"""Many runs as one data set, and the documented queries on it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.workers_scale.simulate import Fault, Simulated, write
from unslow.analyse.run.assemble import load
from unslow.diagnose import diagnose
from unslow.export.dataset import TABLES, add
from unslow.model import Diagnosis
from unslow.runfolder import layout

duckdb = pytest.importorskip(
    "duckdb", reason="duckdb is not installed (extra scale): Parquet is not tested"
)
QUERIES = Path(__file__).parents[2] / "examples" / "queries"
WEEK = 7 * 86_400


def job(place: Path, name: str, fault: Fault, started: float, commit: str) -> Diagnosis:
    """A recorded job of four workers, begun at a commit."""
    folder = place / name
    write(Simulated(4, 300, fault, seed=3), folder)
    header = json.loads((folder / layout.HEADER).read_text())
    (folder / layout.HEADER).write_text(
        json.dumps({**header, "commit": commit, "started": started})
    )
    return diagnose(load(str(folder)), with_fixes=False)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("collection")
    begin = 1_790_000_000.0
    jobs = [
        job(place, "monday", Fault(""), begin, "aaaa"),
        job(place, "tuesday", Fault("input", 2, 0, 0.1), begin + 86_400, "bbbb"),
        job(place, "later", Fault("own Python", 2, 0, 0.1), begin + WEEK, "bbbb"),
    ]
    for each in jobs:
        add(each, place / "data")
    return place / "data"


def ask(dataset: Path, name: str) -> list[dict[str, object]]:
    """The rows of one of the documented queries."""
    views = (QUERIES / "views.sql").read_text().replace("DATASET", str(dataset))
    with duckdb.connect() as connection:
        connection.execute(views)
        result = connection.execute((QUERIES / f"{name}.sql").read_text())
        names = [column[0] for column in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def test_the_data_set_is_partitioned_by_week(dataset: Path) -> None:
    weeks = {path.name for path in (dataset / "runs").iterdir()}
    assert len(weeks) == 2 and all(week.startswith("week=2026-W") for week in weeks)


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_its_columns_and_types(dataset: Path, table: str) -> None:
    with duckdb.connect() as connection:
        for path in (dataset / table).rglob("*.parquet"):
            described = connection.execute(f"describe select * from '{path}'").fetchall()
            assert {row[0]: row[1] for row in described if row[0] != "week"} == TABLES[table]


def test_causes_are_ranked_within_each_week(dataset: Path) -> None:
    rows = [row for row in ask(dataset, "slowest_causes_by_week") if row["cause"] == "straggler"]
    assert [row["runs"] for row in rows] == [1, 1]
    assert rows[0]["week"] != rows[1]["week"]


def test_the_commit_that_made_steps_longer_is_named(dataset: Path) -> None:
    (row,) = ask(dataset, "regressions_by_commit")
    assert row["commit"] == "bbbb" and float(str(row["times"])) > 1.5


def test_the_host_that_is_late_again_is_named(dataset: Path) -> None:
    (row,) = ask(dataset, "late_workers")
    assert (row["host"], row["jobs"], row["late_jobs"]) == ("host00002", 3, 2)


def test_a_run_that_is_added_again_is_in_it_once(dataset: Path, tmp_path: Path) -> None:
    diagnosis = job(tmp_path, "again", Fault(""), 1_790_000_000.0, "")
    add(diagnosis, tmp_path / "data")
    add(replace(diagnosis, own_seconds=1.0), tmp_path / "data")
    with duckdb.connect() as connection:
        sql = f"select count(*) from '{tmp_path}/data/runs/*/*.parquet'"
        assert connection.execute(sql).fetchone() == (1,)
