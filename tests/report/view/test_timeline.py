"""Findings on the time axis."""

from __future__ import annotations

import pytest

from tests.report.gallery import retracing
from unslow.report.view.line_times import LineTime
from unslow.report.view.timeline import COLUMNS, timeline_of


def test_a_finding_lies_where_its_line_was_on_the_stack() -> None:
    diagnosis = retracing()
    finding, seconds = diagnosis.findings[0], diagnosis.run.seconds
    assert finding.location is not None
    spans = [(seconds / 2, seconds, seconds / 2)]
    times = {(finding.location.file, finding.location.line): LineTime(1e9, 0.0, spans)}
    lane = timeline_of(diagnosis.run, (finding,), times)["findings"][0]
    assert lane["by"] == "stack samples of its line"
    ((start, end, _),) = lane["spans"]
    assert start == pytest.approx(seconds / 2, abs=seconds / COLUMNS)
    assert end == pytest.approx(seconds, abs=seconds / COLUMNS)


def test_a_finding_that_slows_other_lines_lies_where_its_loop_was() -> None:
    diagnosis = retracing()
    lane = timeline_of(diagnosis.run, diagnosis.findings[:1], {})["findings"][0]
    loop = diagnosis.run.loops[0]
    assert lane["by"] == "its loop"
    assert lane["spans"][0][:2] == pytest.approx([loop.start, loop.stop], abs=1e-3)
