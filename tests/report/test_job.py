"""A job of many workers in every format of the report."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from bench.workers_scale.simulate import Fault, Simulated, write
from unslow.analyse.run.assemble import load
from unslow.diagnose import diagnose
from unslow.report import html, json_report, markdown, terminal
from unslow.report.job import SHADES, headline, notes, rest, shades, table
from unslow.report.view import view_of


def view(place: Path, job: Simulated) -> dict[str, Any]:
    write(job, place / "run")
    return view_of(diagnose(load(str(place / "run")), with_fixes=False))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return view(tmp_path_factory.mktemp("small"), Simulated(4, 200, Fault("input", 2, 50, 0.08)))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return view(tmp_path_factory.mktemp("large"), Simulated(200, 60, Fault("input", 77, 0, 0.08)))


def printed(seen: dict[str, Any]) -> str:
    console = Console(file=io.StringIO(), width=80)
    console.print(terminal.renderable(seen))
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_the_worst_worker_is_set_beside_a_typical_one(small: dict[str, Any]) -> None:
    worst, typical = small["job"]["pair"]
    assert worst["name"] == "worker 2" != typical["name"]
    waits = {bar["label"]: bar["seconds"] for bar in typical["bars"]}
    assert waits["waits for others"] > 0.03


def test_the_parts_of_a_usual_step_make_it_up(small: dict[str, Any]) -> None:
    """Tracing the first steps is no part of it."""
    for side in small["job"]["pair"]:
        whole = sum(bar["seconds"] for bar in side["bars"])
        assert whole == pytest.approx(side["step_seconds"], rel=0.02)
        assert side["step_seconds"] == pytest.approx(small["job"]["step_seconds"], rel=0.02)


def test_the_table_begins_with_the_one_that_others_wait_for(small: dict[str, Any]) -> None:
    first, *others = small["job"]["workers"]
    assert first["name"] == "worker 2" and first["excess"] == "input"
    assert 0.6 < first["last_share"] < 0.9
    assert all(other["wait_share"] > 0.2 for other in others)


def test_the_heat_map_is_light_where_a_worker_does_not_wait(small: dict[str, Any]) -> None:
    heat = small["job"]["heat"]
    late = [row[-1] for row in heat["wait_share"]]
    assert late[2] < 0.05 and min(late[:2] + late[3:]) > 0.3
    assert heat["last"][-1] == 2
    assert len(heat["until_seconds"]) == len(heat["wait_share"][0])


def test_a_terminal_shows_the_heat_map_and_fits_80_columns(small: dict[str, Any]) -> None:
    text = printed(small)
    assert "4 workers, 200 steps" in text and SHADES[2] in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_large_job_stays_readable_and_its_culprit_has_a_row(large: dict[str, Any]) -> None:
    job = large["job"]
    assert len(job["workers"]) == 200 and len(table(job)) == 12
    assert "188 more workers" in rest(job)
    drawn = shades(job["heat"], 48, 16)
    assert len(drawn) <= 16 and "worker 77" in [label for label, _ in drawn]
    assert len(printed(large).splitlines()) < 150
    assert len(html.dumps(large)) < 1_000_000


def test_only_the_loops_of_the_pair_are_shown(large: dict[str, Any]) -> None:
    page = html.dumps(large)
    assert page.count('data-chart="step"') == 2
    assert markdown.dumps(large).count("`train.py:40`") == 2


def test_json_follows_its_schema(small: dict[str, Any]) -> None:
    data = json.loads(json_report.dumps(small))
    jsonschema.Draft202012Validator(json_report.schema()).validate(data)
    assert data["job"]["pair"][0]["name"] == "worker 2"


def test_markdown_has_the_same_table(small: dict[str, Any]) -> None:
    text = markdown.dumps(small)
    assert "| worker 2 | host00002 |" in text


def test_workers_that_left_no_recording_are_named(tmp_path: Path) -> None:
    write(Simulated(4, 100), tmp_path / "run")
    for path in (tmp_path / "run").glob("host00003*"):
        path.unlink()
    job = view_of(diagnose(load(str(tmp_path / "run")), with_fixes=False))["job"]
    assert headline(job).startswith("3 workers of 4")
    assert any("worker 3: left no recording" in text for text in notes(job))


def test_a_folder_without_a_single_common_step_is_no_error(tmp_path: Path) -> None:
    write(Simulated(2, 50), tmp_path / "run")
    for path in (tmp_path / "run").glob("*.events"):
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if '"worker_steps"' not in line))
    for path in (tmp_path / "run").glob("*.steps"):
        path.write_bytes(b"")
    seen = view_of(diagnose(load(str(tmp_path / "run")), with_fixes=False))
    assert "2 workers" in printed(seen)
    html.dumps(seen)
    markdown.dumps(seen)
