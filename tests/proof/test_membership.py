"""Several launchers that record into one folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unslow.errors import UnslowError
from unslow.proof.membership import Membership, Register, join, membership_of
from unslow.runfolder import layout, members

ABOUT = {"command": ["train.py"], "cwd": "/x", "started": 1.0, "clock": 2, "launcher": 3}


def config(index: int, port: int = 1) -> dict[str, str]:
    cluster = {"worker": [f"a:{port}", f"b:{port}"]}
    task = {"type": "worker", "index": index}
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})}


def test_workers_of_one_cluster_have_one_job_and_different_tasks() -> None:
    first, second = membership_of(config(0)), membership_of(config(1))
    assert first and second
    assert first.job == second.job and (first.task, second.task) == ("worker 0", "worker 1")
    other = membership_of(config(0, port=2))
    assert other and other.job != first.job


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"SLURM_JOB_ID": "7", "SLURM_PROCID": "2"}, Membership("Slurm job 7", "worker 2")),
        ({"PMIX_NAMESPACE": "n", "PMI_RANK": "0"}, Membership("MPI job n", "worker 0")),
        ({"UNSLOW_JOB": "mine", **config(1)}, Membership("job mine", "worker 1")),
        ({"TF_CONFIG": "not json"}, None),
        ({}, None),
    ],
)
def test_the_place_in_a_job_is_read_from_what_engines_set(
    variables: dict[str, str], expected: Membership | None
) -> None:
    assert membership_of(variables) == expected


def register(folder: Path, task: str, name: str = "") -> Register:
    entry = Register(str(folder), Membership("job 1", task))
    entry.name = name or task.replace(" ", "-")
    return entry


def test_the_header_is_written_once_and_the_job_ends_with_its_last_launcher(
    tmp_path: Path,
) -> None:
    first, second = register(tmp_path, "worker 0"), register(tmp_path, "worker 1")
    first.begin({**ABOUT, "host": "a"})
    second.begin({**ABOUT, "host": "b", "command": ["other.py"]})
    assert layout.read_header(str(tmp_path))["command"] == ["train.py"]
    first.finish({"ended": "exit 0", "code": 0, "seconds": 5.0})
    assert not layout.read_header(str(tmp_path)).get("ended")
    second.finish({"ended": "exit 3", "code": 3, "seconds": 6.0})
    assert layout.read_header(str(tmp_path))["ended"] == "exit 3"
    assert not list(tmp_path.glob(".*"))


def test_a_peer_joins_and_another_job_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    join(folder, Membership("job 1", "worker 0"))
    register(folder, "worker 0").begin({**ABOUT, "host": "a"})
    assert join(folder, Membership("job 1", "worker 1")) == str(folder)
    with pytest.raises(UnslowError, match="holds job 1, and this process belongs to job 2"):
        join(folder, Membership("job 2", "worker 0"))


def test_the_folder_of_an_ordinary_run_is_refused(tmp_path: Path) -> None:
    layout.write_header(str(tmp_path), dict(ABOUT))
    with pytest.raises(UnslowError, match="something else"):
        join(tmp_path, Membership("job 1", "worker 0"))


def test_a_folder_with_foreign_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("")
    with pytest.raises(UnslowError, match="something else"):
        join(tmp_path, Membership("job 1", "worker 0"))


def test_two_launchers_with_one_identity_are_seen_until_one_has_ended(tmp_path: Path) -> None:
    first = register(tmp_path, "worker 0", "a-1")
    second = register(tmp_path, "worker 0", "b-2")
    first.begin({**ABOUT, "host": "a"})
    assert second.namesakes() == ["a-1"]
    first.finish({"ended": "exit 0", "code": 0, "seconds": 5.0})
    assert second.namesakes() == []


def test_a_damaged_entry_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "launch-a-1.json").write_text("{")
    (tmp_path / "launch-b-2.json").write_text("{}")
    assert [entry["name"] for entry in members.read(str(tmp_path))] == ["b-2"]
