"""Who a process is, from the variables of what started it."""

from __future__ import annotations

import json

import pytest

from unslow.facts.workers import WorkerIdentity
from unslow.record.probes.distribute.identity import identity_of


def cluster(role: str, index: int, **tasks: list[str]) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps({"cluster": tasks, "task": {"type": role, "index": index}})}


def known(environment: dict[str, str]) -> WorkerIdentity:
    found = identity_of(environment)
    assert found is not None
    return found


def test_a_process_of_its_own_is_no_worker() -> None:
    assert identity_of({}) is None
    assert identity_of({"TF_CONFIG": ""}) is None
    assert identity_of({"TF_CONFIG": "{}"}) is None
    assert identity_of({"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}) is None


def test_tf_config_names_role_index_and_size() -> None:
    found = known(cluster("worker", 1, chief=["a:1"], worker=["b:1", "c:1"], evaluator=["d:1"]))
    assert (found.role, found.index, found.size, found.source) == ("worker", 1, 3, "TF_CONFIG")


def test_a_chief_beside_parameter_servers_coordinates() -> None:
    assert known(cluster("chief", 0, chief=["a:1"], worker=["b:1"])).role == "chief"
    found = known(cluster("chief", 0, chief=["a:1"], worker=["b:1"], ps=["c:1"]))
    assert (found.role, found.size) == ("coordinator", 1)


def test_workers_of_one_cluster_share_its_digest() -> None:
    one, other = (known(cluster("worker", n, worker=["a:1", "b:1"])) for n in (0, 1))
    elsewhere = known(cluster("worker", 0, worker=["a:2", "b:2"]))
    assert one.job == other.job != elsewhere.job


@pytest.mark.parametrize(
    ("environment", "source", "index", "size"),
    [
        ({"SLURM_PROCID": "3", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "77"}, "Slurm", 3, 8),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, "MPI", 1, 2),
        ({"PMI_RANK": "1", "PMI_SIZE": "4"}, "MPI", 1, 4),
        ({"RAY_TRAIN_WORLD_RANK": "2", "RAY_TRAIN_WORLD_SIZE": "3"}, "Ray", 2, 3),
        ({"JOB_COMPLETION_INDEX": "5"}, "Kubernetes", 5, 0),
        ({"KUBERNETES_SERVICE_HOST": "x", "HOSTNAME": "trainer-4"}, "Kubernetes", 4, 0),
    ],
)
def test_launchers_are_known_by_their_variables(
    environment: dict[str, str], source: str, index: int, size: int
) -> None:
    found = known(environment)
    assert (found.source, found.index, found.size) == (source, index, size)


def test_a_restarted_slurm_task_says_so() -> None:
    found = known({"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_RESTART_COUNT": "1"})
    assert found.attempt == 1


@pytest.mark.parametrize(
    "written", ["{not json", "[]", '{"cluster": []}', '{"cluster": {"worker": ["a:1"]}}', "7"]
)
def test_a_damaged_tf_config_is_named_and_does_not_raise(written: str) -> None:
    found = identity_of({"TF_CONFIG": written})
    assert found is None or found.problem or written == '{"cluster": []}'


def test_a_damaged_tf_config_keeps_what_the_launcher_says() -> None:
    found = known({"TF_CONFIG": "{not json", "SLURM_PROCID": "3", "SLURM_NTASKS": "8"})
    assert (found.index, found.source) == (3, "Slurm")
    assert found.problem.startswith("JSONDecodeError")
