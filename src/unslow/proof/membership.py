"""Which job of a cluster this process belongs to, by the variables that engines set."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unslow.errors import UnslowError
from unslow.runfolder import layout, members

# Variables that hold the number of a job, and the prefix under which it is shown. A number that an
# engine gives comes before the addresses in TF_CONFIG, which a second job may use again.
_JOBS = (
    ("UNSLOW_JOB", "job"),
    ("SLURM_JOB_ID", "Slurm job"),
    ("PMIX_NAMESPACE", "MPI job"),
    ("OMPI_MCA_ess_base_jobid", "MPI job"),
    ("RAY_JOB_ID", "Ray job"),
)
_RANKS = ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "JOB_COMPLETION_INDEX", "RANK")


@dataclass(frozen=True)
class Membership:
    """A process of a job: what its processes have in common, and its own place."""

    job: str
    task: str


def membership_of(environment: Mapping[str, str] | None = None) -> Membership | None:
    """The place of this process in a job; None where nothing says that there is one."""
    given = os.environ if environment is None else environment
    config = _config(given.get("TF_CONFIG", ""))
    job = _job(given, config)
    if not job:
        return None
    rank = next((given[name] for name in _RANKS if given.get(name, "").isdigit()), "")
    return Membership(job, _task(config) or (f"worker {rank}" if rank else ""))


def _config(text: str) -> Mapping[str, object]:
    try:
        config = json.loads(text)
    except ValueError:
        return {}
    return config if isinstance(config, dict) else {}


def _job(given: Mapping[str, str], config: Mapping[str, object]) -> str:
    for variable, shown in _JOBS:
        if given.get(variable):
            return f"{shown} {given[variable]}"
    cluster = config.get("cluster")
    if not cluster:
        return ""
    digest = hashlib.sha256(json.dumps(cluster, sort_keys=True).encode()).hexdigest()
    return f"cluster {digest[:12]}"


def _task(config: Mapping[str, object]) -> str:
    task = config.get("task")
    return f"{task.get('type')} {task.get('index')}" if isinstance(task, dict) else ""


def join(folder: Path, membership: Membership) -> str:
    """A folder that all processes of a job record into; one of anything else is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    recorded = _job_in(folder)
    if recorded == membership.job:
        return str(folder.resolve())
    if recorded:
        why = f"it holds {recorded}, and this process belongs to {membership.job}"
    elif recorded is None and not any(_recordings(folder)):
        return str(folder.resolve())
    else:
        why = "it holds the recording of something else than a job of several processes"
    hint = "Give each job a folder of its own with --out."
    raise UnslowError(f"cannot record into {folder}", why, hint, "folder-in-use")


def _job_in(folder: Path) -> str | None:
    """The job whose header is there; None without a header."""
    try:
        return str(layout.read_header(str(folder)).get("job", ""))
    except layout.Unreadable:
        return "" if (folder / layout.HEADER).exists() else None


def _recordings(folder: Path) -> list[Path]:
    """What is in a folder, but for drafts of headers: a peer may be about to write one."""
    return [each for each in folder.iterdir() if not each.name.startswith(".")]


class Register:
    """The entry of this process's launcher in the folder of its job."""

    def __init__(self, folder: str, membership: Membership) -> None:
        self._folder, self._membership = folder, membership
        self._entry: dict[str, object] = {}
        self.name = f"{socket.gethostname()}-{os.getpid()}"

    def begin(self, about: Mapping[str, object]) -> None:
        """Write the header of the job unless a peer has, and an entry of our own."""
        own = ("launcher", "clock", "host", "started")
        shared = {key: value for key, value in about.items() if key not in ("launcher", "clock")}
        members.create_header(self._folder, {**shared, "job": self._membership.job})
        self._entry = {"task": self._membership.task, **{key: about[key] for key in own}}
        members.write(self._folder, self.name, self._entry)

    def finish(self, how: Mapping[str, object]) -> None:
        members.write(self._folder, self.name, {**self._entry, **how})

    def namesakes(self) -> Sequence[str]:
        """Launchers with the same task that have not ended."""
        found = members.read(self._folder)
        task = self._membership.task
        alike = (each for each in found if task and each.get("task") == task)
        return [
            str(each["name"])
            for each in alike
            if each["name"] != self.name and not each.get("ended")
        ]
