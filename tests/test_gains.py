"""What was measured of every automatic fix: proved, quiet afterwards, and worth what the finding promised."""

from __future__ import annotations

import pytest

from bench.gains import WITHIN, Row, off, read
from tests.examples import all_examples

ROWS = read()
FIXED = {name: row for name, row in ROWS.items() if "fix" in row}

# Why a promise is not kept, where that is as it should be; each must still be so.
UNPROVED: dict[str, str] = {}
LOUD: dict[str, str] = {}
INEXACT: dict[str, str] = {}

each_fix = pytest.mark.parametrize("row", FIXED.values(), ids=FIXED)


def test_every_row_is_of_an_example_that_is_there() -> None:
    assert set(ROWS) <= {example.path.stem for example in all_examples() if example.expected}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_the_cause_was_found_first_at_its_line(row: Row) -> None:
    assert row["first"] and row["line"], row["found"]


@each_fix
def test_an_automatic_fix_was_proved(row: Row) -> None:
    assert (row.get("verdict") == "PROVED") is (row["example"] not in UNPROVED), row.get("text") or row["failed"]


@each_fix
def test_the_fixed_script_was_quiet(row: Row) -> None:
    assert row.get("quiet", False) is (row["example"] not in {**UNPROVED, **LOUD}), row.get("left")


@each_fix
def test_the_promised_cost_was_within_a_quarter_of_what_the_fix_gave_back(row: Row) -> None:
    missed = off(row) if "verdict" in row else None
    kept = missed is None or abs(missed) <= WITHIN
    assert kept is (row["example"] not in INEXACT), f"off by {missed:+.0%}"


@each_fix
def test_a_fix_without_a_cost_in_time_was_proved_by_what_no_longer_grows(row: Row) -> None:
    assert row["seconds"] or row.get("growth") or row["example"] in UNPROVED
