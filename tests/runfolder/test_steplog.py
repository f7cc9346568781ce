"""Rows are read back as they were written, also where a log is cut off or still grows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from unslow.facts.phase import Phase
from unslow.record.engine.limits import ALONE
from unslow.record.engine.rows import Calls, Rows
from unslow.runfolder.layout import ROW, WORDS
from unslow.runfolder.steplog import parse, rows_of, taken

CALLS = 40


class Log:
    def __init__(self) -> None:
        self.data = b""

    def rows(self, data: bytes) -> None:
        self.data += data


@pytest.fixture
def log() -> Log:
    """A row, many calls as their times alone, and another row."""
    kept = Log()
    recorder = SimpleNamespace(writer=kept, flush=bool, limits=ALONE)
    rows = Rows(recorder)  # type: ignore[arg-type]
    rows.append((100, 0, 3, 1, [0] * len(Phase), 0, 8.0, 0.5))
    times = [time for call in range(CALLS) for time in (110 + 100 * call, 200 + 100 * call)]
    rows.add_calls(Calls(100, 3, 1, 8.0, times))
    rows.append((5000, 4100, 3, 1, [0] * len(Phase), 0, 8.0, 0.5))
    rows.write(0)
    return kept


def test_calls_become_rows_that_follow_each_other(log: Log) -> None:
    rows = rows_of(log.data)
    assert rows["end"].tolist() == [100, *(200 + 100 * call for call in range(CALLS)), 5000]
    assert rows["total"].tolist() == [100] * (CALLS + 1) + [900]
    assert rows["count"].tolist() == [1] * (CALLS + 2)
    assert rows["phases"][1 : CALLS + 1, Phase.RUN].tolist() == [90] * CALLS
    assert (rows["phases"].sum(axis=1) == rows["total"]).all()


def test_times_alone_take_a_fraction_of_the_room(log: Log) -> None:
    assert len(log.data) == ROW.size * (3 + -(-2 * CALLS // WORDS))


@pytest.mark.parametrize("records", range(1, 8))
def test_a_log_that_is_cut_off_is_read_as_far_as_it_goes(log: Log, records: int) -> None:
    rows = rows_of(log.data[: records * ROW.size])
    whole = rows_of(log.data)
    assert len(rows) == min(
        len(whole), 1 + min(CALLS, max(0, records - 2) * WORDS // 2) + (records > 7)
    )
    assert (rows["end"] == whole["end"][: len(rows)]).all()


def test_a_log_that_still_grows_is_taken_once(log: Log) -> None:
    seen, rest = [], b""
    for begin in range(0, len(log.data), 50):
        rest += log.data[begin : begin + 50]
        rows, size, _ = taken(rest)
        rest = rest[size:]
        seen += rows["end"].tolist()
    assert seen == rows_of(log.data)["end"].tolist()


def test_what_a_network_folder_shows_too_early_is_no_row(log: Log) -> None:
    assert len(rows_of(log.data + bytes(3 * ROW.size))) == CALLS + 2


@pytest.mark.parametrize(
    "row",
    [
        (1000, 100, 100, 100, 0xFFFFFFFF, 3, 1, 8.0, 0.5, *[0] * 10, 100),
        (1000, 100, 100, 100, 2, 3, 1, 8.0, 0.5, *[0] * 10, 100),
        (1000, 100, 100, 100, 1, 3, 1, 8.0, 0.5, *[0] * 10, 99),
        (1000, 1 << 62, 1 << 62, 1 << 62, 1, 3, 1, 8.0, 0.5, *[0] * 10, 1 << 62),
        (-1000, 100, 100, 100, 1, 3, 1, 8.0, 0.5, *[0] * 10, 100),
        (1000, 100, 100, 100, 1, 3, 1, float("inf"), 0.5, *[0] * 10, 100),
        (1 << 60, 100, 100, 100, 1, 3, 1, 8.0, 0.5, *[0] * 10, 100),
    ],
    ids=["count", "mean", "phases", "time", "clock", "elements", "far apart"],
)
def test_a_row_that_contradicts_itself_is_left_out_and_counted(log: Log, row: Any) -> None:
    parsed = parse(log.data + ROW.pack(*row))
    assert len(parsed.rows) == CALLS + 2
    assert parsed.damaged == 1


def test_calls_after_a_damaged_time_are_left_out_and_counted(log: Log) -> None:
    data = bytearray(log.data)
    at = 2 * ROW.size + 8 * 20  # the start of the eleventh call
    data[at : at + 8] = (1 << 61).to_bytes(8, "little")
    parsed = parse(bytes(data))
    assert parsed.rows["end"].tolist() == [100, *(200 + 100 * call for call in range(10)), 5000]
    assert parsed.damaged == CALLS - 10
