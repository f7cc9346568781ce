"""Trials run in a copy: the user's files are never touched."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from unslow.analyse.sketches.sketch import Sketch
from unslow.errors import UnslowError
from unslow.proof import launch
from unslow.proof.sides import side_of
from unslow.proof.workspace import Workspace
from unslow.runfolder import layout as runfile


def test_a_file_written_in_the_copy_leaves_the_original_alone(tmp_path: Path) -> None:
    (tmp_path / "model.h5").write_text("mine")
    with Workspace(str(tmp_path)) as copy:
        (copy.cwd / "model.h5").write_text("theirs")
    assert (tmp_path / "model.h5").read_text() == "mine"


def test_a_replaced_text_is_in_the_copy_alone(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("before")
    with Workspace(str(tmp_path), {"train.py": "after"}) as copy:
        assert (copy.cwd / "train.py").read_text() == "after"
    assert (tmp_path / "train.py").read_text() == "before"


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    with Workspace(str(tmp_path)) as copy:
        place = copy.cwd
    assert not place.exists()


def test_a_script_outside_the_directory_is_copied_and_named_in_the_command(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    script = tmp_path / "project" / "train.py"
    script.write_text("before")
    (tmp_path / "here").mkdir()
    with Workspace(str(tmp_path / "here"), {str(script): "after"}) as copy:
        word = copy.command(["python", "../project/train.py", "--epochs", "3"])[1]
        assert Path(word).read_text() == "after"
    assert script.read_text() == "before"


def test_arguments_that_are_no_paths_stay_as_they_are(tmp_path: Path) -> None:
    with Workspace(str(tmp_path)) as copy:
        assert copy.command(["python", "-m", "train", "--rate=0.1"]) == [
            "python",
            "-m",
            "train",
            "--rate=0.1",
        ]


def test_environments_and_recordings_are_not_copied(tmp_path: Path) -> None:
    for name in (".unslow", ".git", ".venv"):
        (tmp_path / name).mkdir()
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    with Workspace(str(tmp_path)) as copy:
        assert list(copy.cwd.iterdir()) == []


def test_copies_of_files_elsewhere_are_found_after_the_way_in(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "model.py").write_text("old")
    with Workspace(
        str(tmp_path / "here"), {str(tmp_path / "lib" / "model.py"): "new"}
    ) as workspace:
        paths = launch.environment("run", workspace.environment())["PYTHONPATH"].split(os.pathsep)
    assert (
        paths[0] == str(launch.INJECT)
        and paths[1] == workspace.environment()["PYTHONPATH"].split(os.pathsep)[0]
    )


def test_a_trial_does_not_copy_the_libraries_whose_lines_were_recorded(tmp_path: Path) -> None:
    runfile.write_header(str(tmp_path), {})
    library = "/env/lib/python3.11/site-packages/keras/adapter.py"
    run = replace(
        Sketch("").run(), command=("python", "train.py"), sources={"train.py": "", library: ""}
    )
    assert set(side_of(run, str(tmp_path)).texts) == {"train.py"}


def test_a_job_is_run_again_as_a_job_of_the_same_size(tmp_path: Path) -> None:
    runfile.write_header(str(tmp_path), {"cluster": {"workers": 3, "servers": 0}})
    run = replace(Sketch("").run(), command=("python", "train.py"))
    assert list(side_of(run, str(tmp_path)).command)[-4:] == ["3", "0", "python", "train.py"]


def test_one_worker_of_a_job_is_not_run_again_without_its_peers(tmp_path: Path) -> None:
    config = '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}'
    runfile.write_header(str(tmp_path), {"environment": {"TF_CONFIG": config}})
    run = replace(Sketch("").run(), command=("python", "train.py"))
    with pytest.raises(UnslowError, match="peers were started elsewhere"):
        side_of(run, str(tmp_path))
