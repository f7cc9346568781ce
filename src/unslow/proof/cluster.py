"""A cluster on this machine: its tasks, their ports, and the TF_CONFIG of each."""

from __future__ import annotations

import errno
import json
import os
import random
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from unslow.errors import UnslowError

# Outgoing connections take their ports from the system's range of short-lived ports, and a port
# that is free when it is chosen could be taken by a peer's connection seconds later, before
# TensorFlow listens on it. Ports below that range are left alone by the system.
_PORTS = range(20_000, 32_000)
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_MOST_TRIES = 2000
_HOST = "127.0.0.1"


@dataclass(frozen=True)
class Task:
    """One process of a job."""

    kind: str  # chief, worker or ps
    index: int

    @property
    def name(self) -> str:
        return f"{self.kind} {self.index}"


@dataclass(frozen=True)
class Cluster:
    """How many processes a job has; with parameter servers there is a coordinator as well."""

    workers: int
    servers: int = 0

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All processes, the one that leads the job first."""
        kinds = [("worker", self.workers), ("ps", self.servers)]
        if self.servers:
            kinds.insert(0, ("chief", 1))
        return tuple(Task(kind, index) for kind, count in kinds for index in range(count))

    @property
    def led(self) -> bool:
        """Whether the job is over when its first task is: servers never end by themselves."""
        return self.servers > 0

    def configurations(self) -> dict[Task, str]:
        """The TF_CONFIG of each task, on ports that are free now."""
        tasks = self.tasks
        ports = dict(zip(tasks, free_ports(len(tasks)), strict=True))
        addresses: dict[str, list[str]] = {}
        for task in tasks:
            addresses.setdefault(task.kind, []).append(f"{_HOST}:{ports[task]}")
        return {
            task: json.dumps(
                {"cluster": addresses, "task": {"type": task.kind, "index": task.index}}
            )
            for task in tasks
        }


def free_ports(count: int) -> list[int]:
    """Different ports of this machine that nobody listens on."""
    candidates = [port for port in _PORTS if port < _first_short_lived()] or list(_PORTS)
    found: list[int] = []
    for port in random.sample(candidates, min(_MOST_TRIES, len(candidates))):
        if is_free(_HOST, port):
            found.append(port)
        if len(found) == count:
            return found
    raise UnslowError(
        f"cannot start {count} processes",
        "there are not enough free ports on this machine",
        "Start fewer with --workers.",
        "bad-cluster",
    )


def _first_short_lived() -> int:
    try:
        return int(_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):  # not Linux
        return _PORTS.stop


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there; False only where another one is known to."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except OSError as problem:
            return problem.errno != errno.EADDRINUSE
    return True


def must_have_no_cluster(environment: Mapping[str, str] | None = None) -> None:
    """--workers makes the cluster; a process that has a place in one already is part of a job."""
    value = (environment or os.environ).get("TF_CONFIG", "")
    if value.strip() not in ("", "{}"):
        raise UnslowError(
            "cannot start workers here",
            "TF_CONFIG is set: this process is already part of a cluster",
            "Unset TF_CONFIG, or record this one process: unslow run --out FOLDER train.py",
            "bad-cluster",
        )


def doubts_about(value: str) -> str:
    """What is wrong with a TF_CONFIG that was set for the command, or nothing.

    The command runs all the same: TensorFlow has its own words for it.
    """
    if not value.strip():
        return ""
    try:
        config = json.loads(value)
    except ValueError as problem:
        return f"TF_CONFIG is not JSON ({problem}); this process is recorded without a name"
    try:
        task = config["task"]
        addresses = config["cluster"][task["type"]]
        address = str(addresses[int(task["index"])])
    except KeyError as problem:
        return "" if config == {} else f"TF_CONFIG has no {problem}; TensorFlow needs it"
    except (TypeError, ValueError):
        return "TF_CONFIG does not say which task this process is"
    except IndexError:
        return f"TF_CONFIG has no address for {task['type']} {task['index']}"
    host, _, port = address.rpartition(":")
    if port.isdigit() and _is_here(host) and not is_free(host, int(port)):
        return f"another program listens on {address}, the address of this {task['type']}"
    return ""


def has_peers(value: str) -> bool:
    """Whether a TF_CONFIG names more than one process."""
    try:
        addresses = json.loads(value)["cluster"].values()
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
    return sum(len(each) for each in addresses) > 1


def _is_here(host: str) -> bool:
    return host in (_HOST, "localhost", socket.gethostname())
