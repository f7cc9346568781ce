"""The files for clusters in examples/clusters: what they would start, without a cluster."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from unslow.proof.membership import membership_of

CLUSTERS = Path(__file__).parents[1] / "examples" / "clusters"

# Stand-ins for the programs of Slurm: srun runs the command once for each of three tasks.
PROGRAMS = {
    "scontrol": "printf 'node1\\nnode2\\nnode3\\n'",
    "srun": """
        while [ "${1#--}" != "$1" ]; do shift; done
        for task in 0 1 2; do SLURM_PROCID=$task "$@" || exit 1; done
    """,
    "unslow": """printf '%s\\t%s\\t%s\\n' "$*" "${TF_CONFIG:-}" "${SLURM_PROCID:-}" >> calls""",
}


@pytest.fixture
def calls(tmp_path: Path) -> list[list[str]]:
    """What the batch file calls `unslow` with: its words, TF_CONFIG, and the task."""
    (tmp_path / "bin").mkdir()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "activate").write_text("")
    for name, body in PROGRAMS.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/bash\n{body}\n")
        program.chmod(0o755)
    env = {
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "SLURM_SUBMIT_DIR": str(tmp_path),
        "SLURM_JOB_ID": "17",
        "SLURM_JOB_NODELIST": "node[1-3]",
    }
    subprocess.run(["bash", str(CLUSTERS / "slurm.sh")], env=env, check=True, timeout=60)
    return [line.split("\t") for line in (tmp_path / "calls").read_text().splitlines()]


def test_slurm_starts_one_recorded_worker_per_task_in_one_folder(calls: list[list[str]]) -> None:
    workers, (report, *_) = calls[:3], calls[3]
    assert {words for words, _, _ in workers} == {"run --quiet --out runs/17 train.py"}
    assert report.startswith("why runs/17")


def test_slurm_workers_know_each_other_and_are_one_job(calls: list[list[str]]) -> None:
    jobs = set()
    for number, (_, config, task) in enumerate(calls[:3]):
        parsed = json.loads(config)
        assert parsed["cluster"]["worker"] == [f"node{n}:20000" for n in (1, 2, 3)]
        assert parsed["task"] == {"type": "worker", "index": number}
        variables = {"TF_CONFIG": config, "SLURM_JOB_ID": "17", "SLURM_PROCID": task}
        membership = membership_of(variables)
        assert membership is not None and membership.task == f"worker {number}"
        jobs.add(membership.job)
    assert jobs == {"Slurm job 17"}


@pytest.fixture(scope="module")
def resources() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((CLUSTERS / "kubernetes.yaml").read_text()))


def test_kubernetes_resources_follow_the_schemas_of_kubernetes(
    resources: list[dict[str, Any]],
) -> None:
    validate = pytest.importorskip("kubernetes_validate")
    for resource in resources:
        validate.validate(resource, validate.latest_version().rpartition(".")[0], strict=True)


def test_kubernetes_workers_are_one_job_and_can_be_reached(
    resources: list[dict[str, Any]],
) -> None:
    services = {each["metadata"]["name"]: each for each in resources if each["kind"] == "Service"}
    jobs = [each for each in resources if each["kind"] == "Job"]
    memberships = []
    for index, job in enumerate(jobs):
        (container,) = job["spec"]["template"]["spec"]["containers"]
        variables = {each["name"]: each["value"] for each in container["env"]}
        memberships.append(membership_of(variables))
        config = json.loads(variables["TF_CONFIG"])
        host, _, port = config["cluster"]["worker"][index].partition(":")
        service = services[host]["spec"]
        assert service["selector"] == {"batch.kubernetes.io/job-name": job["metadata"]["name"]}
        assert service["ports"][0]["port"] == int(port)
        assert container["command"][:5] == ["unslow", "run", "--quiet", "--out", "/runs/train-1"]
    assert [each.task for each in memberships if each] == ["worker 0", "worker 1"]
    assert len({each.job for each in memberships if each}) == 1
