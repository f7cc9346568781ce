"""Runs jobs one after the other, each of several processes on this machine with a TF_CONFIG each.

The import of TensorFlow takes longer than a job: it is done once, and the processes are forked
before TensorFlow makes its runtime. Usage: start.py JOBS.json PIDS.json.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parent))
import train

_LATE = 7.0  # seconds
_TIME_LIMIT = 180.0  # of a job; one that takes longer hangs
_BURNERS = 3  # programs beside a worker on its core
Task = tuple[str, int]


def main() -> None:
    jobs = json.loads(Path(sys.argv[1]).read_text())
    ran = []
    for job in jobs:
        began = time.monotonic()
        ended = run(job)
        ran.append({**ended, "seconds": round(time.monotonic() - began, 1)})
        Path(sys.argv[2]).write_text(json.dumps(ran))


def run(job: dict[str, Any]) -> dict[str, Any]:
    """One job; the ids of its processes and the worst of their exit codes."""
    workers, faulty, fault = job["workers"], job["faulty"], job["fault"]
    tasks: list[Task] = [("worker", index) for index in range(workers)]
    has_servers = fault in ("fetch", "no-fetch")
    if has_servers:
        tasks += [("ps", 0), ("chief", 0)]
    cluster = cluster_of(tasks)
    burners = [_burner(faulty) for _ in range(_BURNERS)] if fault == "core" else []
    burners += [_burner(None) for _ in range(job["busy"])]
    tasks.sort(key=lambda task: fault == "late" and task == ("worker", faulty))
    pids: dict[Task, int] = {}
    for number, task in enumerate(tasks):
        if fault == "late" and number == workers - 1:
            time.sleep(_LATE)
        kind, index = task
        os.environ["TF_CONFIG"] = json.dumps(
            {"cluster": cluster, "task": {"type": kind, "index": index}}
        )
        if has_servers:
            pids[task] = _started(job)
        else:
            has_own = fault == "core" or workers <= len(os.sched_getaffinity(0))
            pids[task] = _forked(job, index if has_own else None)
    training = [task for task in tasks if not has_servers or task[0] == "chief"]
    try:
        code = _waited([pids[task] for task in training])
    finally:
        for pid in [pids[task] for task in tasks if task not in training]:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        for burner in burners:
            burner.kill()
            burner.wait()
    return {"pids": list(pids.values()), "exit": code}


def cluster_of(tasks: list[Task]) -> dict[str, list[str]]:
    """Ports that nobody listens on; all are held until the last one was found."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in tasks]
    cluster: dict[str, list[str]] = {}
    for (kind, _), each in zip(tasks, held, strict=True):
        cluster.setdefault(kind, []).append(f"127.0.0.1:{each.getsockname()[1]}")
    for each in held:
        each.close()
    return cluster


def _forked(job: dict[str, Any], pinned: int | None) -> int:
    pid = os.fork()
    if pid:
        return pid
    if pinned is not None:
        os.sched_setaffinity(0, {_core(pinned)})
    train.main(job["fault"], job["faulty"], job["loop"], job["epochs"], job["batch"])
    sys.exit()


def _started(job: dict[str, Any]) -> int:
    """A process with an import of its own: a coordinator makes no steps, and a fork that makes
    none is not recorded."""
    script = str(Path(__file__).parent / "train_ps.py")
    return subprocess.Popen([sys.executable, script, job["fault"], str(job["steps"])]).pid


def _waited(pids: list[int]) -> int:
    """The worst exit code; -1 where one had to be killed after the time limit."""
    until = time.monotonic() + _TIME_LIMIT
    left, worst = set(pids), 0
    while left:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in left:
            left.discard(pid)
            worst = max(worst, abs(os.waitstatus_to_exitcode(status)))
        elif time.monotonic() > until:
            for hanging in left:
                os.kill(hanging, signal.SIGKILL)
                os.waitpid(hanging, 0)
            return -1
        else:
            time.sleep(0.02)
    return worst


def _core(index: int) -> int:
    cores = sorted(os.sched_getaffinity(0))
    return cores[index % len(cores)]


def _burner(worker: int | None) -> subprocess.Popen[bytes]:
    """A program that computes all the time: on one worker's core, or on any."""
    burner = subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
    if worker is not None:
        os.sched_setaffinity(burner.pid, {_core(worker)})
    return burner


if __name__ == "__main__":
    main()
