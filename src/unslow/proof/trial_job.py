"""Runs the command of a trial as every task of a cluster on this machine.

A trial starts this program in the place of the command: `trial_job.py 2 0 python train.py`. Steps
and weights are those of the first task, which all others are in step with; what the others record
is thrown away.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from unslow.proof import launch
from unslow.proof.cluster import Cluster
from unslow.proof.local_job import die_with_parent

_GRACE = 5.0  # seconds for the other tasks to make their last step, once the first has made its own


def command_of(cluster: Cluster, command: Sequence[str]) -> list[str]:
    """What runs `command` on every task of a cluster."""
    size = [str(cluster.workers), str(cluster.servers)]
    return [sys.executable, "-m", __name__, *size, *command]


def main(arguments: Sequence[str]) -> None:
    """Ends as the first task does."""
    cluster = Cluster(int(arguments[0]), int(arguments[1]))
    with tempfile.TemporaryDirectory(prefix="unslow-tasks-") as beside:
        tasks = []
        for number, config in enumerate(cluster.configurations().values()):
            own = _beside(Path(beside) / str(number)) if number else {}
            env = {**os.environ, **own, "TF_CONFIG": config}
            tasks.append(subprocess.Popen(arguments[2:], env=env, preexec_fn=die_with_parent()))
        code = tasks[0].wait()
        for task in tasks[1:]:
            try:
                task.wait(_GRACE)
            except subprocess.TimeoutExpired:
                task.kill()
                task.wait()
    launch.die_as(launch.ended_with(code, 0.0))


def _beside(folder: Path) -> dict[str, str]:
    """The environment of a task whose recording nobody reads."""
    folder.mkdir()
    trial = json.loads(os.environ.get("UNSLOW_TRIAL") or "{}")
    changed = {"UNSLOW_RUN": str(folder)}
    if trial:
        changed["UNSLOW_TRIAL"] = json.dumps({**trial, "out": str(folder / "weights")})
    return changed


if __name__ == "__main__":
    main(sys.argv[1:])
