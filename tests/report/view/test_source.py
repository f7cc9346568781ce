"""The annotated source."""

from __future__ import annotations

from dataclasses import replace

from tests.report.gallery import retracing
from unslow.model import Location
from unslow.report.view.line_times import LineTime
from unslow.report.view.source import AROUND, WHOLE, sources_of


def test_a_finding_stands_at_its_line_and_time_at_the_others() -> None:
    diagnosis = retracing()
    where = diagnosis.findings[0].location
    assert where is not None
    (file,) = sources_of(diagnosis.run, diagnosis.findings, {(where.file, 1): LineTime(1.5)})
    assert [row["line"] for row in file["rows"] if row["findings"]] == [where.line]
    assert [row["seconds"] for row in file["rows"] if row["line"] == 1] == [1.5]


def test_a_long_file_is_shown_around_what_matters() -> None:
    diagnosis = retracing()
    where = Location("long.py", 300)
    finding = replace(diagnosis.findings[0], location=where)
    text = "\n".join(f"line_{number}" for number in range(1, 2 * WHOLE + 1))
    run = replace(diagnosis.run, sources={"long.py": text})
    (file,) = sources_of(run, (finding,), {})
    assert [row["line"] for row in file["rows"] if "line" in row] == list(
        range(300 - AROUND, 300 + AROUND + 1)
    )
    assert sum(row.get("left_out", 1) for row in file["rows"]) == 2 * WHOLE


def test_without_kept_sources_there_is_nothing_to_show() -> None:
    diagnosis = retracing()
    run = replace(diagnosis.run, sources={})
    assert sources_of(run, diagnosis.findings, {}) == []
