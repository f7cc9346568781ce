"""Two workers on one machine: whether an epoch's traffic grows with the epochs."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.claims.experiment import Experiment, Measured
from bench.claims.gauges import calm, middle, seconds
from bench.claims.lazy import tf

_ROOT = Path(__file__).parents[2]
_EPOCHS, _STEPS = 12, 20


def _free_ports() -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [server.getsockname()[1] for server in held]
    for server in held:
        server.close()
    return ports


def traffic() -> Measured:
    """Seconds and bytes over the loopback device of early and late epochs."""
    where = {"worker": [f"127.0.0.1:{port}" for port in _free_ports()]}
    other = subprocess.Popen(
        [sys.executable, "-m", "bench.claims.workers"],
        cwd=_ROOT,
        env={
            **os.environ,
            "TF_CONFIG": json.dumps({"cluster": where, "task": {"type": "worker", "index": 1}}),
        },
    )
    try:
        os.environ["TF_CONFIG"] = json.dumps(
            {"cluster": where, "task": {"type": "worker", "index": 0}}
        )
        times, sent = train()
    finally:
        other.kill()
        other.wait()
    return {
        "early bytes": middle(sent[1:6]),
        "late bytes": middle(sent[-5:]),
        "early epochs": calm(times[1:6]),
        "late epochs": calm(times[-5:]),
    }


def train() -> tuple[list[float], list[float]]:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weights = tf.Variable(tf.ones([256, 256]))

    def update() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(weights))
        gradient = tape.gradient(loss, weights)
        total = tf.distribute.get_replica_context().all_reduce("sum", gradient)
        weights.assign_sub(1e-3 * total)
        return loss

    step = tf.function(lambda: strategy.run(update))

    times, sent = [], []
    for _ in range(_EPOCHS):
        before = _loopback()
        times.append(seconds(lambda: [step() for _ in range(_STEPS)]))
        sent.append(float(_loopback() - before))
    return times, sent


def _loopback() -> int:
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(int(line.split()[9]) for line in lines if line.strip().startswith("lo:"))


EXPERIMENTS = (
    Experiment(
        "traffic",
        "bytes between two workers and seconds of an epoch, late epochs against early ones",
        {"two workers": traffic},
        {"early bytes": "bytes", "late bytes": "bytes", "early epochs": "s", "late epochs": "s"},
        note="both workers on one machine, over the loopback device",
    ),
)

if __name__ == "__main__":
    train()
