"""The table of fixes in the field: what counts as a diff, as proved, and as much as the expert gained."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.field.fixes import Fixed, judged, table
from bench.field.measure import Ran
from bench.field.programs import Program, all_programs

SICK = next(program for program in all_programs() if program.faults and not program.about_memory)
SLOW, QUICK = Ran(30.0, 1000, 0), Ran(10.0, 1000, 0)


def row(**more: Any) -> dict[str, Any]:
    usual = {"cause": "retracing", "fix": "", "refusal": "", "accepted": False, "proof": None}
    return {**usual, **more}


def found(*rows: dict[str, Any], after: Ran | None = None, program: Program = SICK) -> Fixed:
    said = {"fixes": list(rows), "diff": "", "error": ""}
    return judged(program, said, (SLOW, QUICK, after))


def test_a_refusal_is_the_obstacle() -> None:
    one = found(row(refusal="it prints"))
    assert not one.has_diff
    assert one.obstacle == "retracing: it prints"


def test_the_accepted_part_decides_about_the_verdict() -> None:
    unsure = row(fix="a", proof={"verdict": "unsure", "text": ""})
    proved = row(fix="b", accepted=True, proof={"verdict": "proved", "text": ""})
    one = found(unsure, proved, after=Ran(11.0, 1000, 0))
    assert one.is_proved
    assert one.share == pytest.approx(0.95)


def test_a_fixed_program_that_fails_gains_nothing() -> None:
    proved = row(fix="b", accepted=True, proof={"verdict": "proved", "text": ""})
    assert found(proved, after=Ran(1.0, 1000, 1)).share is None


def test_memory_is_compared_by_its_peak() -> None:
    proved = row(fix="b", accepted=True, proof={"verdict": "proved", "text": ""})
    one = replace(
        found(proved, after=Ran(30.0, 600, 0)), memory=True, bare_peak=1000, twin_peak=500
    )
    assert one.share == pytest.approx(0.8)


def test_the_table_counts_short_changes_only() -> None:
    proved = row(fix="b", accepted=True, proof={"verdict": "proved", "text": ""})
    one = replace(found(proved, after=Ran(11.0, 1000, 0)), twin_lines=3)
    long = replace(found(row(refusal="it prints")), twin_lines=40)
    text = table([one, long])
    assert "| with an automatic diff | 1 of 1 (100%) |" in text
    assert "gain | 1 of 1 (100%) |" in text
    assert "none: retracing: it prints" in text
