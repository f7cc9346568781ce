"""Only a plain file that still has the recorded text is written, whatever a run folder says."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from unslow.analyse.sketches.sketch import Sketch
from unslow.errors import UnslowError
from unslow.fix.edit.apply import check_unchanged, is_cell, write
from unslow.model import Run

BEFORE, AFTER = "a = 1\n", "a = 2\n"


def run_in(cwd: Path, *files: str) -> Run:
    run = Sketch("any", [0.01] * 20).run()
    return replace(run, cwd=str(cwd), sources=dict.fromkeys(files, BEFORE))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(BEFORE)
    return folder


def test_a_recorded_file_is_written_with_its_mode_and_line_endings(project: Path) -> None:
    file = project / "train.py"
    file.write_bytes(b"a = 1\r\n")
    file.chmod(0o750)
    assert write(run_in(project, "train.py"), {"train.py": AFTER}) == ["train.py"]
    assert file.read_bytes() == b"a = 2\r\n" and file.stat().st_mode & 0o777 == 0o750
    assert [path.name for path in project.iterdir()] == ["train.py"]


def test_a_file_behind_a_link_is_written_and_the_link_stays(project: Path, tmp_path: Path) -> None:
    (tmp_path / "real.py").write_text(BEFORE)
    (project / "link.py").symlink_to(tmp_path / "real.py")
    write(run_in(project, "link.py"), {"link.py": AFTER})
    assert (project / "link.py").is_symlink() and (tmp_path / "real.py").read_text() == AFTER


@pytest.mark.parametrize("name", ["../outside.py", "a/../../outside.py", "train.py\0.txt"])
def test_a_path_that_no_recorder_writes_is_refused(name: str, project: Path) -> None:
    (project.parent / "outside.py").write_text(BEFORE)
    with pytest.raises(UnslowError, match="plain path"):
        write(run_in(project, name), {name: AFTER})
    assert (project.parent / "outside.py").read_text() == BEFORE


def test_a_library_behind_a_link_is_never_written(project: Path, tmp_path: Path) -> None:
    library = tmp_path / "site-packages"
    library.mkdir()
    (library / "inner.py").write_text(BEFORE)
    (project / "own.py").symlink_to(library / "inner.py")
    with pytest.raises(UnslowError, match="installed library"):
        write(run_in(project, "own.py"), {"own.py": AFTER})
    assert (library / "inner.py").read_text() == BEFORE


def test_a_pipe_is_neither_waited_for_nor_replaced(project: Path) -> None:
    (project / "train.py").unlink()
    os.mkfifo(project / "train.py")
    with pytest.raises(UnslowError, match="no plain file"):
        check_unchanged(run_in(project, "train.py"), {"train.py": AFTER})


def test_a_link_that_appears_after_the_check_is_not_followed(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim.py"
    victim.write_text("precious = True\n")
    real_replace = os.replace

    def race(*args: object, **options: object) -> None:
        (project / "train.py").unlink()
        (project / "train.py").symlink_to(victim)
        real_replace(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", race)
    write(run_in(project, "train.py"), {"train.py": AFTER})
    assert victim.read_text() == "precious = True\n"
    assert not (project / "train.py").is_symlink()


def test_a_folder_that_is_exchanged_for_a_link_after_the_check_is_not_followed(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "train.py").write_text("precious = True\n")
    real_open = os.open

    def race(path: object, flags: int, *args: object, **options: object) -> int:
        if str(path).startswith(".train.py."):  # the draft: the check is over
            project.rename(tmp_path / "moved")
            project.symlink_to(victim)
        return real_open(path, flags, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", race)
    write(run_in(project, "train.py"), {"train.py": AFTER})
    assert (victim / "train.py").read_text() == "precious = True\n"
    assert (tmp_path / "moved" / "train.py").read_text() == AFTER


CELL = "/tmp/ipykernel_12/345.py"


@pytest.mark.parametrize(
    ("file", "expected"),
    [(CELL, True), ("<ipython-input-3-abc>", True), ("train.py", False), ("ipykernel/1.py", False)],
)
def test_cells_of_notebooks_are_recognised(file: str, expected: bool) -> None:
    assert is_cell(file) is expected


def test_a_cell_has_no_file_that_could_have_changed_and_is_never_written(tmp_path: Path) -> None:
    run = replace(Sketch("", [0.1] * 10).run(), cwd=str(tmp_path), sources={CELL: "step(1)\n"})
    check_unchanged(run, {CELL: "step(2)\n"})
    with pytest.raises(UnslowError, match="%unslow_fix"):
        write(run, {CELL: "step(2)\n"})


def test_a_file_that_is_gone_cannot_be_changed(tmp_path: Path) -> None:
    run = replace(Sketch("", [0.1] * 10).run(), cwd=str(tmp_path), sources={"train.py": ""})
    with pytest.raises(UnslowError, match="no longer there"):
        check_unchanged(run, {"train.py": "pass\n"})
