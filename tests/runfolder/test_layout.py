"""The run folder survives kills, full disks and strangers."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from unslow.analyse.run.assemble import load
from unslow.errors import UnslowError
from unslow.runfolder import layout as runfile
from unslow.runfolder.layout import ROW, Unreadable, Writer


def row(end: int, wall: int = 1_000_000, site: int = 0) -> bytes:
    return ROW.pack(end, wall, wall, wall, 1, site, 0, 0.0, 0.0, *([0] * 10), wall)


def line(kind: str, at: int, /, **data: object) -> bytes:
    return json.dumps({"k": kind, "t": at, **data}).encode() + b"\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of 200 steps as a process would have written it."""
    runfile.write_header(
        str(tmp_path), {"command": ["python", "train.py"], "cwd": "/w", "ended": "exit 0"}
    )
    writer = Writer(str(tmp_path), "host-1")
    writer.lines(line("process", 0, pid=1, host="host", argv=["train.py"]))
    writer.lines(
        line(
            "site",
            1,
            id=0,
            kind="optimizer",
            owner=1,
            stack=[["/w/train.py", 5, "f"]],
            loop=[0, 4, 6],
            thread=7,
        )
    )
    writer.rows(b"".join(row(n * 1_000_000) for n in range(1, 201)))
    writer.close()
    return tmp_path


def test_a_whole_folder_gives_its_steps_back(folder: Path) -> None:
    (loop,) = load(str(folder)).loops
    assert (loop.steps, str(loop.location), str(loop.update)) == (200, "train.py:4", "train.py:5")


def test_a_torn_row_costs_one_step(folder: Path) -> None:
    log = folder / "host-1.steps"
    log.write_bytes(log.read_bytes()[:-10])
    run = load(str(folder))
    assert run.steps == 199 and any("cut off" in note for note in run.notes)


def test_a_torn_line_costs_that_line_alone(folder: Path) -> None:
    with (folder / "host-1.events").open("ab") as log:
        log.write(b'{"k": "tra')
    run = load(str(folder))
    assert run.steps == 200 and any("cut off" in note for note in run.notes)


def test_bytes_that_are_not_text_do_no_harm(folder: Path) -> None:
    with (folder / "host-1.events").open("ab") as log:
        log.write(b"\xff\xfe\x00garbage\n")
    assert load(str(folder)).steps == 200


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "no run.json"),
        ("", "not JSON"),
        ("[]", "not written by unslow"),
        ('{"a": 1}', "not written by unslow"),
        ('{"version": 99, "unslow": "9.0"}', "unslow 9.0 wrote it in format 99"),
        ('{"version": 2, "cwd": 5}', "`cwd` is 5"),
    ],
)
def test_a_folder_that_is_none_says_why(tmp_path: Path, text: str | None, why: str) -> None:
    if text is not None:
        (tmp_path / "run.json").write_text(text)
    with pytest.raises(UnslowError, match=why):
        load(str(tmp_path))


def test_a_folder_without_any_process_is_read_and_has_no_steps(tmp_path: Path) -> None:
    runfile.write_header(str(tmp_path), {"command": ["true"], "ended": "exit 0"})
    run = load(str(tmp_path))
    assert run.steps == 0 and run.processes == ()


def test_a_missing_folder_is_an_error_that_says_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(UnslowError, match="unslow runs"):
        load(str(tmp_path / "nowhere"))


def test_a_writer_that_cannot_write_stays_silent_and_says_why(tmp_path: Path) -> None:
    writer = Writer(str(tmp_path / "nowhere"), "host-1")
    writer.rows(row(1))
    writer.rows(row(2))
    assert "could not be written" in writer.lost


def test_a_program_that_replaces_a_system_call_sees_none_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    for name in ("open", "write", "close", "fstat"):
        monkeypatch.setattr(f"os.{name}", lambda *given: seen.append(given))
    writer = Writer(str(tmp_path), "host-1")
    writer.rows(row(1))
    writer.close()
    monkeypatch.undo()
    assert not seen and (tmp_path / "host-1.steps").read_bytes() == row(1)


def test_a_full_disk_is_said_and_not_raised() -> None:
    writer = Writer("/dev", "none")
    writer._paths = ("/dev/full", "/dev/full")
    writer.rows(row(1))
    assert "No space left" in writer.lost


@pytest.mark.parametrize("version", [0, 99])
def test_a_folder_of_another_version_says_how_to_record_again(tmp_path: Path, version: int) -> None:
    header = {"version": version, "unslow": "0.1", "command": ["python", "fit.py", "--fast"]}
    (tmp_path / "run.json").write_text(json.dumps(header))
    with pytest.raises(UnslowError) as error:
        load(str(tmp_path))
    assert error.value.next_step == "Record it again: `unslow run python fit.py --fast`."
    assert "this version reads formats 1 to 2" in error.value.why


def test_the_format_before_this_one_is_read(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"version": 1}))
    assert runfile.read_header(str(tmp_path))["version"] == 1


def test_a_header_is_never_half_written(tmp_path: Path) -> None:
    runfile.write_header(str(tmp_path), {"a": 1})
    runfile.write_header(str(tmp_path), {"a": 2})
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
    with pytest.raises(Unreadable):
        runfile.read_header(str(tmp_path / "none"))


def test_a_file_that_leads_out_of_the_folder_is_not_read(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path.parent / "secret.events"
    outside.write_bytes(b"secret")
    (folder / "host-9.events").symlink_to(outside)
    with pytest.raises(OSError, match="leads out"):
        runfile.read_inside(str(folder), "host-9.events")
    with pytest.raises(OSError, match="leads out"):
        runfile.read_inside(str(folder), "../secret.events")
    assert sum(bool(log.lines) for log in runfile.read(str(folder)).logs) == 1


def test_pipes_and_devices_in_a_folder_are_left_out(folder: Path) -> None:
    os.mkfifo(folder / "host-8.events")
    (folder / "host-7.steps").symlink_to("/dev/zero")
    assert load(str(folder)).steps == 200
    os.unlink(folder / "run.json")
    os.mkfifo(folder / "run.json")
    with pytest.raises(Unreadable, match="no plain file"):
        runfile.read_header(str(folder))


@pytest.mark.parametrize(("lasted", "said"), [(60.0, True), (1.0, False)])
def test_a_recording_that_stopped_long_before_its_command_says_so(
    folder: Path, lasted: float, said: bool
) -> None:
    header = {"command": ["x"], "cwd": "/w", "ended": "exit 0", "seconds": lasted}
    runfile.write_header(str(folder), header)
    notes = load(str(folder)).notes
    assert any("could no longer be written" in note for note in notes) == said


def test_a_header_that_cannot_be_written_leaves_the_old_one_and_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runfile.write_header(str(tmp_path), {"command": ["train.py"]})

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(json, "dump", full)
    with pytest.raises(OSError, match="No space"):
        runfile.write_header(str(tmp_path), {"command": ["other.py"]})
    assert [file.name for file in tmp_path.iterdir()] == [runfile.HEADER]
