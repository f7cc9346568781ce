"""Of a kind with very many lines some are read, and totals stay those of all."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from unslow.analyse.run.assemble import load
from unslow.facts.functions import Trace
from unslow.facts.stored_text import StoredText
from unslow.runfolder import eventlog
from unslow.runfolder import layout as runfile
from unslow.runfolder.eventlog import Lines, read_lines, share

ENOUGH = 1 << 30


def line(kind: str, at: int, /, **data: object) -> bytes:
    return json.dumps({"k": kind, "t": at, **data}).encode() + b"\n"


def read(data: bytes, most: int = 10) -> Lines:
    return read_lines(io.BytesIO(data), "a log", most, ENOUGH)


def test_few_lines_are_all_read() -> None:
    found = read(b"".join(line("gc", at, key="a", n=at) for at in range(10)))
    assert [fact["t"] for fact in found.facts] == list(range(10))
    assert not found.left_out and not found.torn and not found.damaged


def test_of_very_many_lines_some_are_read_and_the_last_of_each_key() -> None:
    rare = line("gc", 0, key="rare", n=1)
    found = read(line("end", 0) + rare + b"".join(line("gc", n, key="a", n=n) for n in range(999)))
    assert len(found.facts) <= 13
    assert found.left_out["gc"] == 1000 - (len(found.facts) - 1)
    last = {fact["key"]: fact["n"] for fact in found.facts if fact["k"] == "gc"}
    assert last == {"rare": 1, "a": 998}


def test_lines_that_others_refer_to_are_read_far_longer() -> None:
    found = read(b"".join(line("stack", n, id=n) for n in range(100)))
    assert len(found.facts) == 100


def test_definitions_without_end_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eventlog, "_MOST_DEFINITIONS", 20)
    found = read(b"".join(line("stack", n, id=n) for n in range(100)))
    assert [fact["id"] for fact in found.facts] == list(range(20))


def test_damage_is_counted_and_a_torn_end_is_noticed() -> None:
    found = read(line("gc", 1) + b'{"k": "gc"}\n\n[1]\nno json\n' + b'{"k": "gc", "t')
    assert (len(found.facts), found.damaged, found.torn) == (1, 3, True)


def test_a_log_beyond_the_limit_of_bytes_is_read_up_to_it() -> None:
    data = b"".join(line("gc", n) for n in range(10))
    found = read_lines(io.BytesIO(data), "a log", 100, len(line("gc", 0)) * 4)
    assert len(found.facts) == 4


def test_the_steps_of_a_worker_stay_in_their_file_until_they_are_read(tmp_path: Path) -> None:
    """The text of 1,000 workers and 100,000 steps is 0.5 GB."""
    path = tmp_path / "host-1.events"
    path.write_bytes(line("gc", 1) + line("worker_steps", 2, data="AAAA") + line("gc", 3))
    with path.open("rb") as file:
        found = read_lines(file, str(path), 10, ENOUGH).facts[1]["data"]
    assert isinstance(found, StoredText)
    assert found.read() == "AAAA"
    path.write_bytes(b"another text")
    assert found.read() == ""
    path.unlink()
    assert found.read() == ""


def test_many_processes_share_the_room() -> None:
    assert share(1) == eventlog.MOST_OF_A_KIND
    assert share(1000) < share(100) <= share(1)
    assert share(10**6) > 0


def test_totals_of_a_crowded_log_are_exact_and_the_report_says_what_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eventlog, "MOST_OF_A_KIND", 50)
    monkeypatch.setattr(eventlog, "_LEAST", 50)
    runfile.write_header(str(tmp_path), {"command": ["x"], "cwd": "/w", "ended": "exit 0"})
    traces = (
        line("trace", n, name="f", key="f", n=n, sum_ns=n * 1000, took_ns=1000)
        for n in range(1, 2001)
    )
    lines = [line("process", 0, pid=1, host="host", argv=["x"]), *traces, line("end", 3000, how="")]
    (tmp_path / "host-1.events").write_bytes(b"".join(lines))
    run = load(str(tmp_path))
    found = run.facts(Trace)
    assert len(found) <= 51 and found[-1].n == 2000
    assert any("of 2,002 facts" in note for note in run.notes)
