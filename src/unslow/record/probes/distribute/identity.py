"""Which part of a job this process is, from the variables that its launcher set."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping

from unslow.facts.workers import WorkerIdentity

_TRAINS = ("chief", "worker")
_ROLES = {"master": "chief", "chief": "chief", "worker": "worker", "ps": "ps"}
_MOST_PROBLEM = 200  # characters

# Rank, size, job and restarts, by what started the process. The first pair that is set counts.
_LAUNCHERS = (
    ("Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_ID", "SLURM_RESTART_COUNT"),
    ("MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_MCA_ess_base_jobid", ""),
    ("MPI", "PMIX_RANK", "PMIX_SIZE", "PMIX_NAMESPACE", ""),
    ("MPI", "PMI_RANK", "PMI_SIZE", "PMI_JOBID", ""),
    ("Ray", "RAY_TRAIN_WORLD_RANK", "RAY_TRAIN_WORLD_SIZE", "RAY_JOB_ID", ""),
    ("Kubernetes", "JOB_COMPLETION_INDEX", "JOB_COMPLETIONS", "JOB_NAME", ""),
)


def identity_of(environment: Mapping[str, str]) -> WorkerIdentity | None:
    """Who this process is; None where nothing says that it is one of several."""
    written = environment.get("TF_CONFIG", "").strip()
    if not written:
        return _from_launcher(environment)
    try:
        return _from_cluster(json.loads(written))
    except (ValueError, LookupError, TypeError, AttributeError) as problem:
        found = _from_launcher(environment) or WorkerIdentity(source="TF_CONFIG")
        why = f"{type(problem).__name__}: {problem}"[:_MOST_PROBLEM]
        return WorkerIdentity(
            index=found.index, size=found.size, source=found.source, job=found.job, problem=why
        )


def _from_cluster(config: Mapping[str, object]) -> WorkerIdentity | None:
    cluster, task = config.get("cluster") or {}, config.get("task")
    if not isinstance(cluster, dict):
        raise TypeError("its cluster is not an object")
    if not cluster:
        return None
    if not isinstance(task, dict):
        raise TypeError("it has no task")
    kind, index = str(task["type"]), int(task["index"])
    return WorkerIdentity(
        role=_role(kind, cluster),
        index=index,
        size=sum(len(cluster.get(name) or ()) for name in _training(cluster)),
        source="TF_CONFIG",
        job=_digest(cluster),
    )


def _training(cluster: Mapping[str, object]) -> tuple[str, ...]:
    """The kinds of tasks that run steps; a chief beside parameter servers runs none."""
    return ("worker",) if "ps" in cluster else (*_TRAINS, "master")


def _role(kind: str, cluster: Mapping[str, object]) -> str:
    """A chief beside parameter servers coordinates."""
    role = _ROLES.get(kind, kind)
    return "coordinator" if role == "chief" and "ps" in cluster else role


def _digest(cluster: Mapping[str, object]) -> str:
    text = json.dumps(cluster, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _from_launcher(environment: Mapping[str, str]) -> WorkerIdentity | None:
    for source, rank, size, job, restarts in _LAUNCHERS:
        index = _number(environment.get(rank))
        total = _number(environment.get(size))
        if index is None or (total is not None and total < 2):
            continue
        return WorkerIdentity(
            index=index,
            size=total or 0,
            source=source,
            job=environment.get(job, ""),
            attempt=_number(environment.get(restarts)) or 0,
        )
    return _from_pod(environment)


def _from_pod(environment: Mapping[str, str]) -> WorkerIdentity | None:
    """A pod of a StatefulSet ends in its number: trainer-0, trainer-1 …"""
    if "KUBERNETES_SERVICE_HOST" not in environment or "JOB_COMPLETION_INDEX" in environment:
        return None
    name, _, last = environment.get("HOSTNAME", "").rpartition("-")
    index = _number(last)
    if not name or index is None:
        return None
    return WorkerIdentity(index=index, source="Kubernetes", job=name)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def identity() -> WorkerIdentity | None:
    """Who this very process is."""
    return identity_of(os.environ)
