"""Starts the processes of a job on this machine, one TF_CONFIG each, and waits for all of them.

A minimal stand-in for `unslow run --workers`, which cannot delay, pin or disturb one worker.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on; all are held until the last one was found."""
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--ps", type=int, default=0)
    parser.add_argument("--late", type=int, default=-1, help="the worker to start 9 s late")
    parser.add_argument("--busy", type=int, default=-1, help="the worker whose core is used")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    tasks = [("worker", index) for index in range(options.workers)]
    if options.ps:
        tasks += [("ps", index) for index in range(options.ps)] + [("chief", 0)]
    ports = free_ports(len(tasks))
    cluster: dict[str, list[str]] = {}
    for (role, _), port in zip(tasks, ports, strict=True):
        cluster.setdefault(role, []).append(f"127.0.0.1:{port}")
    burners = [_burner(options.busy) for _ in range(3)] if options.busy >= 0 else []
    processes = {}
    for role, index in sorted(tasks, key=lambda task: task == ("worker", options.late)):
        if (role, index) == ("worker", options.late):
            time.sleep(9)
        task = {"type": role, "index": index}
        environment = {**os.environ, "TF_CONFIG": json.dumps({"cluster": cluster, "task": task})}
        processes[role, index] = subprocess.Popen(options.command, env=environment)
        if options.busy >= 0:
            os.sched_setaffinity(processes[role, index].pid, {_core(index)})
    trained = [task for task in tasks if options.ps == 0 or task[0] == "chief"]
    try:
        return max(abs(processes[task].wait()) for task in trained)
    finally:
        for process in (*processes.values(), *burners):
            process.kill()


def _core(index: int) -> int:
    cores = sorted(os.sched_getaffinity(0))
    return cores[index % len(cores)]


def _burner(worker: int) -> subprocess.Popen[bytes]:
    burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    os.sched_setaffinity(burner.pid, {_core(worker)})
    return burner


if __name__ == "__main__":
    sys.exit(main())
