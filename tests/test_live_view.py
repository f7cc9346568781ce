"""The live view: what it reads from the files of a run, when it judges, and what it draws where."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.examples import RECORDED
from unslow.analyse.run.assemble import load
from unslow.cli import main
from unslow.errors import UnslowError
from unslow.live import judge as judging
from unslow.live import screen
from unslow.live.beside import Display, Surroundings, display_for
from unslow.live.follow import Follower
from unslow.live.judge import Judge
from unslow.live.loop_length import steps_of
from unslow.live.rows import LATEST, MOST, Rows
from unslow.live.state import state_of
from unslow.live.watch import LONGEST, SHORTEST, Watch
from unslow.model import Finding, Location, Phase
from unslow.report.live import clock, frame, status_line
from unslow.runfolder import layout as runfile
from unslow.syntax import Source

NAMES = ("input_bound_fit", "graph_growth", "hoarded_tensors", "eager_step")


class Terminal:
    """What a terminal shows after some output: as much of one as the view and a progress bar need."""

    _PARTS = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b([78D])|([^\x1b])", re.DOTALL)

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = self.top = 0
        self.bottom = rows - 1
        self.saved = (0, 0, False)
        self.full = False  # the last column was written: the next character goes to the next row
        self.wraps = True
        self.above: list[str] = []  # rows that were scrolled away

    def feed(self, text: str) -> None:
        for numbers, command, escape, char in self._PARTS.findall(text):
            if command:
                self._control(
                    [int(number or 0) for number in numbers.lstrip("?").split(";")],
                    numbers,
                    command,
                )
            elif escape == "7":
                self.saved = (self.row, self.column, self.full)
            elif escape == "8":
                self.row, self.column, self.full = self.saved
            elif escape == "D" or char == "\n":
                self._down()
            elif char == "\r":
                self.column, self.full = 0, False
            else:
                self._put(char)

    def _put(self, char: str) -> None:
        if self.full and self.wraps:
            self.column = 0
            self._down()
        self.cells[self.row][self.column] = char
        self.full = self.column == self.columns - 1
        self.column = min(self.column + 1, self.columns - 1)

    def _down(self) -> None:
        self.full = False
        if self.row == self.bottom:
            self.above.append("".join(self.cells.pop(self.top)).rstrip())
            self.cells.insert(self.bottom, [" "] * self.columns)
        else:
            self.row = min(self.row + 1, self.rows - 1)

    def _control(self, numbers: list[int], raw: str, command: str) -> None:
        if command == "A":
            self.row, self.full = max(0, self.row - (numbers[0] or 1)), False
        elif command == "H":
            self.row, self.column, self.full = numbers[0] - 1, numbers[1] - 1, False
        elif command in "JK":
            self.cells[self.row][self.column :] = [" "] * (self.columns - self.column)
            for row in range(self.row + 1, self.rows) if command == "J" else ():
                self.cells[row] = [" "] * self.columns
        elif command == "r":
            self.top, self.bottom = (
                (numbers[0] or 1) - 1,
                (numbers[1] if len(numbers) > 1 else self.rows) - 1,
            )
            self.row = self.column = 0
        elif raw == "?7":
            self.wraps = command == "h"

    def text(self) -> list[str]:
        return ["".join(row).rstrip() for row in self.cells]


def unpacked(name: str, folder: Path) -> Path:
    with zipfile.ZipFile(RECORDED / f"{name}.zip") as packed:
        packed.extractall(folder)
    return folder


def running(folder: Path) -> dict[str, Any]:
    """Take back how it ended, as if it still ran."""
    header: dict[str, Any] = json.loads((folder / runfile.HEADER).read_text())
    for name in ("ended", "code", "seconds"):
        header.pop(name, None)
    (folder / runfile.HEADER).write_text(json.dumps(header))
    return header


def cut(name: str, folder: Path, share: float) -> Path:
    """A recording as it was after some share of its bytes, in the middle of a line or a row."""
    unpacked(name, folder)
    running(folder)
    for log in [*folder.glob("*.steps"), *folder.glob("*.events")]:
        data = log.read_bytes()
        log.write_bytes(data[: int(len(data) * share)])
    return folder


def looked(folder: Path, quiet: float = 0.0) -> dict[str, Any]:
    follower = Follower(str(folder))
    follower.poll()
    return state_of(follower, Judge(), quiet)


def drawn(view: dict[str, Any], width: int = 80, height: int = 30) -> list[str]:
    return [line.plain for line in frame(view, width, height)]


# Reading


@pytest.mark.parametrize("name", NAMES)
def test_a_finished_run_has_the_steps_of_the_report(name: str, tmp_path: Path) -> None:
    folder = unpacked(name, tmp_path)
    run = load(str(folder))
    assert looked(folder)["loop"]["steps"] == run.loops[-1].steps


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("pieces", [3, 7])
def test_what_is_read_in_pieces_is_what_is_read_at_once(
    name: str, pieces: int, tmp_path: Path
) -> None:
    whole = cut(name, tmp_path / "whole", 1.0)
    growing = tmp_path / "growing"
    growing.mkdir()
    shutil.copy(whole / runfile.HEADER, growing)
    follower = Follower(str(growing))
    for piece in range(1, pieces + 1):
        for log in [*whole.glob("*.steps"), *whole.glob("*.events")]:
            data = log.read_bytes()
            (growing / log.name).write_bytes(data[: len(data) * piece // pieces])
        follower.poll()
    once = Follower(str(whole))
    once.poll()
    assert {**state_of(follower, Judge(), 0.0), "folder": ""} == {
        **state_of(once, Judge(), 0.0),
        "folder": "",
    }


@pytest.mark.parametrize("name", NAMES)
def test_steps_never_go_back_while_a_run_grows(name: str, tmp_path: Path) -> None:
    steps = [
        looked(cut(name, tmp_path / str(share), share))["steps"]
        for share in (0.02, 0.2, 0.5, 0.8, 1.0)
    ]
    assert steps == sorted(steps) and steps[-1] > steps[1]


def test_a_second_look_reads_nothing_again(tmp_path: Path) -> None:
    follower = Follower(str(cut("graph_growth", tmp_path, 0.7)))
    assert follower.poll()
    taken = follower.bytes_taken
    assert taken == sum(
        log.stat().st_size for log in tmp_path.glob("*.*s") if log.suffix in (".steps", ".events")
    )
    assert not follower.poll() and follower.bytes_taken == taken


def test_looking_leaves_the_folder_as_it_is(tmp_path: Path) -> None:
    folder = cut("graph_growth", tmp_path, 0.7)
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*")}
    looked(folder)
    assert {
        path: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*")
    } == before


def packed(ends: range, site: int = 0) -> bytes:
    phases = [0] * len(Phase)
    phases[Phase.RUN], phases[Phase.OTHER] = 900, 100
    return b"".join(
        runfile.ROW.pack(end, 1000, 1000, 1000, 1, site, 1, 32.0, 0.5, *phases) for end in ends
    )


def test_rows_of_a_long_run_stay_few_and_lose_no_step(tmp_path: Path) -> None:
    rows = Rows()
    for begin in range(0, 100_000, 10_000):
        rows.add(packed(range(begin * 1000, (begin + 10_000) * 1000, 1000)))
    kept = [
        runfile.ROW.unpack_from(rows.packed(), at * runfile.ROW.size) for at in range(len(rows))
    ]
    assert len(kept) <= MOST
    assert sum(row[4] for row in kept) == 100_000 and sum(row[1] for row in kept) == 100_000_000
    assert sum(row[runfile.FIRST_PHASE + Phase.RUN] for row in kept) == 90_000_000


def test_the_first_and_the_latest_rows_stay_single() -> None:
    rows = Rows()
    rows.add(packed(range(20_000)))
    counts = [
        runfile.ROW.unpack_from(rows.packed(), at * runfile.ROW.size)[4] for at in range(len(rows))
    ]
    assert counts[0] == 1 and counts[-LATEST:] == [1] * LATEST and max(counts) > 1


def test_rows_of_two_optimizers_are_merged_apart() -> None:
    rows = Rows()
    both = [packed(range(end, end + 1), site=end % 2) for end in range(20_000)]
    rows.add(b"".join(both))
    kept = [
        runfile.ROW.unpack_from(rows.packed(), at * runfile.ROW.size) for at in range(len(rows))
    ]
    assert [sum(row[4] for row in kept if row[5] == site) for site in (0, 1)] == [10_000, 10_000]
    assert np.all(np.diff([row[0] for row in kept]) > 0)


def test_epochs_without_end_push_out_the_oldest(tmp_path: Path) -> None:
    runfile.write_header(str(tmp_path), {"command": []})
    lines = [json.dumps({"k": "epoch", "t": number, "epoch": number}) for number in range(5000)]
    (tmp_path / "host-1.events").write_text("\n".join(lines) + "\n")
    follower = Follower(str(tmp_path))
    follower.poll()
    kept = [line["epoch"] for line in follower.processes["host-1"].lines]
    assert len(kept) == 2000 and kept == sorted(kept) and kept[-1] == 4999


def test_rows_of_zeros_are_left_out() -> None:
    rows = Rows()
    rows.add(packed(range(3)) + bytes(2 * runfile.ROW.size))
    assert len(rows) == rows.steps_seen == 3


def test_a_row_is_left_out_until_its_place_is_written(tmp_path: Path) -> None:
    folder = cut("graph_growth", tmp_path, 0.7)
    log = next(folder.glob("*.events"))
    log.write_bytes(
        b"".join(line for line in log.read_bytes().splitlines(True) if b'"k": "site"' not in line)
    )
    assert looked(folder)["loop"] is None


def test_a_place_without_rows_is_left_out(tmp_path: Path) -> None:
    folder = cut("graph_growth", tmp_path, 0.7)
    log = next(folder.glob("*.events"))
    site = next(
        json.loads(line) for line in log.read_bytes().splitlines() if b'"k": "site"' in line
    )
    with log.open("ab") as lines:
        lines.write(b"\n" + json.dumps({**site, "id": 9, "thread": 5}).encode() + b"\n")
    assert looked(folder)["loop"]["steps"] == 175


# What is said of the run


def test_a_folder_that_was_just_made_is_not_started_yet(tmp_path: Path) -> None:
    assert looked(tmp_path)["status"]["text"] == "not started yet"


def test_a_run_without_a_process_has_not_imported_tensorflow(tmp_path: Path) -> None:
    runfile.write_header(str(tmp_path), {"command": ["python", "train.py"]})
    assert looked(tmp_path)["status"]["text"] == "TensorFlow is not imported yet"


def test_a_run_that_has_just_imported_tensorflow_has_no_step(tmp_path: Path) -> None:
    folder = cut("graph_growth", tmp_path, 0.05)
    for rows in folder.glob("*.steps"):
        rows.unlink()
    assert looked(folder)["status"]["text"] == "no training step yet"


def test_an_ended_run_says_how(tmp_path: Path) -> None:
    folder = unpacked("graph_growth", tmp_path)
    assert looked(folder)["status"] == {"kind": "ended", "text": "ended: exit 0"}


def test_silence_is_counted_by_the_watchers_own_clock(tmp_path: Path) -> None:
    folder = cut("graph_growth", tmp_path, 0.7)
    header = running(folder)
    (folder / runfile.HEADER).write_text(
        json.dumps({**header, "started": 4e9})
    )  # that machine's clock is far ahead
    now = [1000.0]
    watch = Watch(str(folder), now=lambda: now[0], spent=lambda: 0.0)
    assert watch.poll()["status"]["kind"] == "training"
    now[0] += 12
    assert watch.poll()["status"]["text"].startswith("no news for 12 s")


def test_news_end_a_silence(tmp_path: Path) -> None:
    folder = cut("graph_growth", tmp_path, 0.7)
    now = [1000.0]
    watch = Watch(str(folder), now=lambda: now[0], spent=lambda: 0.0)
    watch.poll()
    now[0] += 12
    with next(folder.glob("*.events")).open("ab") as lines:
        lines.write(b'\n{"k": "tick", "t": 1, "rss": 1.0}\n')
    assert watch.poll()["status"]["kind"] == "training"


def test_a_run_with_rare_readings_is_not_called_silent(tmp_path: Path) -> None:
    folder = cut("graph_growth", tmp_path, 1.0)
    log = next(folder.glob("*.events"))
    kept = [line for line in log.read_bytes().splitlines() if b'"k": "end"' not in line]
    last = max(json.loads(line)["t"] for line in kept)
    ticks = [{"k": "tick", "t": last + after * 10**9, "rss": 1.0} for after in (16, 32)]
    log.write_bytes(b"\n".join([*kept, *(json.dumps(tick).encode() for tick in ticks)]) + b"\n")
    assert looked(folder, quiet=40.0)["status"]["kind"] == "training"
    assert looked(folder, quiet=60.0)["status"]["kind"] == "quiet"


def test_several_processes_are_listed_the_slowest_first(tmp_path: Path) -> None:
    folder = cut("graph_growth", tmp_path / "one", 0.7)
    other = cut("hoarded_tensors", tmp_path / "other", 0.7)
    for log in [*other.glob("*.steps"), *other.glob("*.events")]:
        shutil.copy(log, folder)
    view = looked(folder)
    paces = [
        float(found)
        for line in drawn(view)
        for found in re.findall(r"^  vm-\d+ .* ([\d.]+) ms a step", line)
    ]
    assert len(view["workers"]) == 2 and len(paces) == 2 and paces == sorted(paces, reverse=True)


def test_of_many_processes_all_are_shown_after_some_looks(tmp_path: Path) -> None:
    folder = cut("graph_growth", tmp_path, 0.7)
    for log in [*folder.glob("*.steps"), *folder.glob("*.events")]:
        for number in range(9):
            shutil.copy(log, folder / f"worker-{number}{log.suffix}")
    follower = Follower(str(folder))
    follower.poll()
    steps = [
        [worker["steps"] for worker in state_of(follower, Judge(), 0.0)["workers"]]
        for _ in range(3)
    ]
    assert 0 in steps[0] and steps[2] == [175] * 10


def test_a_folder_that_is_no_run_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UnslowError, match=r"run\.json"):
        Watch(str(tmp_path)).poll()


def test_a_folder_of_another_version_says_how_to_record_again(tmp_path: Path) -> None:
    (tmp_path / runfile.HEADER).write_text(json.dumps({"version": 99, "unslow": "9.9"}))
    with pytest.raises(UnslowError, match="Record it again: `unslow run"):
        Watch(str(tmp_path)).poll()


def test_a_folder_that_is_away_for_a_moment_is_no_error(tmp_path: Path) -> None:
    folder = cut("graph_growth", tmp_path / "run", 0.7)
    watch = Watch(str(folder))
    steps = watch.poll()["steps"]
    folder.rename(tmp_path / "away")
    assert watch.poll()["steps"] == steps


# When it will be through


def test_the_end_of_fit_is_told_from_its_epochs(tmp_path: Path) -> None:
    expected = looked(cut("input_bound_fit", tmp_path, 0.6))["expected"]
    assert (expected["what"], expected["done"], expected["of"]) == (
        "epoch",
        2,
        6,
    ) and 1.0 < expected["left"] < 20.0


def test_nothing_is_said_of_the_end_before_an_epoch_has_ended(tmp_path: Path) -> None:
    assert looked(cut("input_bound_fit", tmp_path, 0.2))["expected"] is None


@pytest.mark.parametrize(
    ("name", "steps"), [("graph_growth", 250), ("eager_step", 150), ("input_bound", 120)]
)
def test_the_end_of_a_loop_is_told_from_its_range_or_its_dataset(
    name: str, steps: int, tmp_path: Path
) -> None:
    view = looked(cut(name, tmp_path, 0.6))
    assert (view["expected"]["what"], view["expected"]["of"]) == ("step", steps)
    assert view["expected"]["done"] == view["loop"]["steps"] and view["expected"]["left"] > 0
    assert any(f"of {steps}, the loop ends in about" in line for line in drawn(view))


@pytest.mark.parametrize("name", ["python_overhead", "graph_growth_method"])
def test_the_end_of_a_loop_whose_steps_grow_is_told_with_and_without_the_growth(
    name: str, tmp_path: Path
) -> None:
    whole = load(str(cut(name, tmp_path / "whole", 1.0)))
    view = looked(cut(name, tmp_path / "part", 0.6))
    expected = view["expected"]
    took = float(whole.loops[-1].seconds[expected["done"] :].sum())
    assert expected["left_growing"] > expected["left"]
    assert abs(expected["left_growing"] - took) < abs(expected["left"] - took)
    differ = clock(expected["left_growing"]) != clock(expected["left"])
    assert any("if steps keep growing" in line for line in drawn(view)) == differ


@pytest.mark.parametrize("name", ["eager_step", "input_bound", "input_bound_fit"])
def test_the_end_of_a_steady_training_is_told_once(name: str, tmp_path: Path) -> None:
    view = looked(cut(name, tmp_path, 0.6))
    assert view["expected"]["left_growing"] is None
    assert not any("growing" in line for line in drawn(view))


def test_the_epochs_that_fit_is_given_by_position_are_read_from_its_line(tmp_path: Path) -> None:
    folder = cut("input_bound_fit", tmp_path, 0.6)
    log = next(folder.glob("*.events"))
    log.write_bytes(log.read_bytes().replace(b'"epochs": 6', b'"epochs": 1'))
    kept = next((folder / "sources").iterdir())
    kept.write_text(kept.read_text().replace("epochs=6", "None, None, 6"))
    assert looked(folder)["expected"]["of"] == 6


LOOP = """\
import tensorflow as tf
v = tf.Variable(1.0)
o = tf.keras.optimizers.SGD()
def step():
    o.apply_gradients([(1.0, v)])
"""


@pytest.mark.parametrize(
    ("text", "line", "steps"),
    [
        ("for i in range(30):\n    step()\n", 6, 30),
        (
            "n = 7\nfor e in range(2, n):\n    for i, x in enumerate(data):\n        step()\n",
            8,
            500,
        ),
        (
            "def main():\n    for i in range(9):\n        step()\nfor k in [1, 2]:\n    main()\n",
            7,
            18,
        ),
        ("for i in range(n):\n    step()\n", 6, None),
        ("for i in range(9):\n    step()\n    if i == 5:\n        break\n", 6, None),
        ("for i in range(9):\n    if i % 3 == 0:\n        step()\n", 6, None),
        ("def main():\n    for i in range(9):\n        step()\nmain()\nmain()\n", 7, None),
        ("while True:\n    for i in range(9):\n        step()\n", 7, None),
        ("for x in stream():\n    step()\n", 6, None),
    ],
)
def test_a_loop_tells_its_steps_only_where_nothing_can_change_them(
    text: str, line: int, steps: int | None
) -> None:
    assert steps_of(Source("train.py", LOOP + text), line, {8: 100}) == steps


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"epochs": 6', b'"epochs": null'),
        (b'"n": 1, "sum_ns": 0, "key": "(', b'"n": 2, "sum_ns": 0, "key": "('),
    ],
    ids=["more epochs than could be seen", "a fit that is called again and again"],
)
def test_nothing_is_said_of_the_end_where_it_would_be_a_guess(
    old: bytes, new: bytes, tmp_path: Path
) -> None:
    folder = cut("input_bound_fit", tmp_path, 0.6)
    log = next(folder.glob("*.events"))
    changed = log.read_bytes().replace(old, new)
    assert changed != log.read_bytes()
    log.write_bytes(changed)
    assert looked(folder)["expected"] is None


# When it judges


def found(cause: str, line: int) -> tuple[Finding, dict[str, Any]]:
    finding = Finding(cause, cause, Location("train.py", line), 1.0, ())
    return finding, {"cause": cause, "line": line}


def test_a_finding_is_certain_when_two_diagnoses_in_a_row_have_made_it() -> None:
    judge = Judge()
    judge.compare([found("retracing", 3), found("host-sync", 9)])
    assert judge.certain == []
    judge.compare([found("retracing", 3), found("host-sync", 12)])
    assert judge.certain == [{"cause": "retracing", "line": 3}]


def test_a_finding_that_is_not_made_again_is_taken_back() -> None:
    judge = Judge()
    for _ in range(2):
        judge.compare([found("retracing", 3)])
    judge.compare([])
    assert judge.certain == []


def test_the_last_diagnosis_of_an_ended_run_needs_no_second(tmp_path: Path) -> None:
    view = Watch(str(unpacked("graph_growth", tmp_path))).poll()
    assert view["findings"][0]["cause"] == "graph-growth"


def test_diagnoses_come_further_and_further_apart() -> None:
    judge, times = Judge(), []
    for second in range(3600):
        if judge.is_due(float(second), 0):
            times.append(second)
            judge.took(float(second), 0.05)
    gaps = np.diff(times)
    assert 10 <= len(times) <= 16 and np.all(np.diff(gaps) >= 0)


@pytest.mark.parametrize("cost", [0.1, 2.0, 30.0])
def test_diagnoses_take_no_more_than_their_share(cost: float) -> None:
    judge, spent = Judge(), 0.0
    for second in range(36_000):
        if judge.is_due(float(second), 0):
            spent += cost
            judge.took(float(second), cost)
    assert spent <= judging.SHARE * (36_000 + judging.AHEAD) + cost


def test_a_huge_folder_is_not_judged_beside_the_training() -> None:
    judge = Judge()
    assert not judge.is_due(1e6, judging.MOST + 1) and judge.too_large


def test_looks_that_are_dear_again_and_again_make_the_next_one_wait() -> None:
    spent = [0.0]
    watch = Watch("nowhere", spent=lambda: spent[0])
    pauses = []
    for cost in (0.5, 0.001, 0.02, 0.02, 9.0, 9.0):
        before = spent[0]
        spent[0] += cost
        pauses.append(watch.rest(before))
    assert pauses == pytest.approx([SHORTEST, SHORTEST, SHORTEST, 2.0, 2.0, LONGEST])


def test_a_growing_run_is_judged_twice_and_then_named(tmp_path: Path) -> None:
    folder = cut("graph_growth", tmp_path, 0.9)
    now = [0.0]
    watch = Watch(str(folder), now=lambda: now[0], spent=lambda: 0.0)
    seen = []
    for _ in range(4):
        seen.append([finding["cause"] for finding in watch.poll()["findings"] if finding["fault"]])
        now[0] += 7
    assert seen[:2] == [[], []] and seen[2:] == [["graph-growth"], ["graph-growth"]]


# What is drawn


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("share", [0.02, 0.3, 0.7, 1.0])
@pytest.mark.parametrize(("width", "height"), [(60, 8), (60, 24), (80, 24), (200, 60), (24, 3)])
def test_a_frame_fits_its_terminal(
    name: str, share: float, width: int, height: int, tmp_path: Path
) -> None:
    lines = frame(looked(cut(name, tmp_path, share)), width, height)
    assert 1 <= len(lines) <= height and all(line.cell_len <= width for line in lines)


def test_a_frame_says_the_loop_its_pace_and_its_phases(tmp_path: Path) -> None:
    text = "\n".join(drawn(looked(cut("input_bound_fit", tmp_path, 0.6))))
    for said in (
        "input_bound_fit.py:35",
        "54 steps",
        "a step",
        "epoch 3 of 6",
        "waiting for data",
        "memory ",
    ):
        assert said in text


def test_where_room_is_short_a_finding_stays_and_its_explanation_goes(tmp_path: Path) -> None:
    view = Watch(str(unpacked("graph_growth", tmp_path))).poll()
    assert "graph-growth at graph_growth.py:29" in "\n".join(drawn(view, 60, 5))


def test_a_narrow_frame_keeps_the_steps(tmp_path: Path) -> None:
    assert "steps" in drawn(looked(cut("graph_growth", tmp_path, 0.6)), 60)[1]


def test_control_characters_of_a_command_are_not_drawn(tmp_path: Path) -> None:
    runfile.write_header(str(tmp_path), {"command": ["python", "\x1b[2Jtrain.py"]})
    assert "\x1b" not in drawn(looked(tmp_path))[0]


def test_a_status_line_names_certain_faults(tmp_path: Path) -> None:
    line = status_line(Watch(str(unpacked("graph_growth", tmp_path))).poll())
    assert (
        line.startswith("unslow: 36 s · 250 steps · ")
        and "graph-growth at graph_growth.py:29" in line
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.9, "59 s"), (185.2, "3 min 05 s"), (7805.0, "2 h 10 min")],
)
def test_times_read_as_a_watch_shows_them(seconds: float, text: str) -> None:
    assert clock(seconds) == text


# Where it is drawn


@pytest.mark.parametrize(
    ("wanted", "shared", "said", "apart", "terminal", "how"),
    [
        (None, True, True, False, True, Display.LINES),  # a plain terminal: the program's own
        (None, True, False, False, True, Display.NONE),  # 2> errors
        (None, False, False, True, True, Display.PANEL),  # > log 2>&1
        (None, False, False, False, True, Display.NONE),  # | tee log
        (None, False, False, False, False, Display.NONE),  # no terminal
        (True, True, True, False, True, Display.PANEL),
        (True, False, False, False, False, Display.NONE),
        (False, True, True, False, True, Display.NONE),
        (False, False, False, True, True, Display.NONE),
    ],
)
def test_the_terminal_of_a_program_is_left_alone_unless_asked(
    wanted: bool | None, shared: bool, said: bool, apart: bool, terminal: bool, how: Display
) -> None:
    around = Surroundings(shared, said, apart, 1 if terminal else -1, terminal)
    assert display_for(wanted, around) is how


class Wired:
    """A screen's writes go into a terminal of a size that may change."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, columns: int = 40, rows: int = 12) -> None:
        self.terminal = Terminal(columns, rows)
        monkeypatch.setattr(screen, "_write", lambda fd, text: self.terminal.feed(text))
        monkeypatch.setattr(
            screen, "size_of", lambda fd: (self.terminal.columns, self.terminal.rows)
        )
        monkeypatch.setattr(screen, "is_ours", lambda fd: True)


def test_what_the_program_prints_stays_whole_above_a_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    wired = Wired(monkeypatch)
    panel = screen.Panel(9)
    bare = Terminal(40, 12)
    for number in range(30):
        text = f"step {number}\r\n" if number % 3 else f"\r{number}%"
        bare.feed(text)
        wired.terminal.feed(text)
        panel.draw(["one", "two", "three"][: 1 + number % 3])
    assert wired.terminal.text()[-3:] == ["one", "two", "three"]
    panel.close()
    whole = [row for row in wired.terminal.above + wired.terminal.text() if row]
    assert whole == [row for row in bare.above + bare.text() if row]


def test_a_full_line_of_a_panel_keeps_its_last_column(monkeypatch: pytest.MonkeyPatch) -> None:
    wired = Wired(monkeypatch)
    screen.Panel(9).draw(["x" * 40, "y"])
    assert wired.terminal.text()[-2:] == ["x" * 40, "y"]


def test_a_panel_leaves_rows_to_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    wired = Wired(monkeypatch, rows=12)
    screen.Panel(9).draw([str(number) for number in range(50)])
    assert wired.terminal.bottom == screen.LEFT - 1


def test_a_resized_terminal_gets_its_panel_at_the_new_end(monkeypatch: pytest.MonkeyPatch) -> None:
    wired = Wired(monkeypatch)
    panel = screen.Panel(9)
    wired.terminal.feed("hello\r\n")
    panel.draw(["one", "two"])
    old, wired.terminal = wired.terminal, Terminal(30, 20)
    wired.terminal.cells[:12] = [row[:30] for row in old.cells]
    wired.terminal.row, wired.terminal.column = old.row, old.column
    panel.draw(["one", "two"])
    assert wired.terminal.text() == ["hello", *[""] * 17, "one", "two"]


@pytest.mark.parametrize("before", ["", "x", "loss 0.5", "y" * 39, "z" * 40, "two\r\nlines"])
def test_a_line_among_the_programs_own_takes_nothing_away(before: str) -> None:
    terminal = Terminal(40, 12)
    terminal.feed(before)
    terminal.feed(screen.line_of_its_own("unslow: 10 s", 40).replace("\n", "\r\n"))
    assert [row for row in terminal.text() if row] == [*before.splitlines(), "unslow: 10 s"]


# The command


def test_without_a_terminal_the_state_is_printed_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from unslow.cli.live import live

    folder = cut("graph_growth", tmp_path, 0.6)
    live.main([str(folder)], standalone_mode=False)
    printed = capsys.readouterr().out
    assert "150 steps" in printed and "unslow live" in printed and "\x1b" not in printed


def test_no_live_view_is_drawn_where_there_is_no_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("unslow.live.beside._own_terminal", lambda: -1)
    (tmp_path / "train.py").write_text("print('ran')")
    with pytest.raises(SystemExit):
        main(["run", "-q", "--live", "train.py"])
    printed = capfd.readouterr()
    assert (
        printed.out == "ran\n"
        and "no terminal to draw on" in printed.err
        and "\x1b" not in printed.err
    )


def test_workers_of_a_job_that_are_not_there_yet_are_named(tmp_path: Path) -> None:
    from bench.workers_scale.simulate import Simulated, write

    write(Simulated(4, 60), tmp_path / "run")
    for path in (tmp_path / "run").glob("host00002*"):
        path.unlink()
    view = looked(tmp_path / "run")
    assert view["missing"] == ["worker 2"]
    assert len(view["workers"]) == 3
    assert any("not started yet: worker 2" in line for line in drawn(view))
    write(Simulated(4, 60), tmp_path / "run")
    assert looked(tmp_path / "run")["missing"] == []
