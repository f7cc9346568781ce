"""A training that is attached to: `python training.py STYLE`.

A number on its stdin asks for as many steps; it answers with the nanoseconds of processor time that they
took, in all threads: on a shared machine that varies far less than the time that passed. `go` lets it
train until the next line, and to that it answers with the end of each step on the clock that all processes share,
and with the begin, end and length of what held it up beside us: full collections of garbage that its own thread made,
and times in which a hypervisor had given its processors to others.
An empty line ends it; it answers with the number of its steps and a digest of its weights.
"""

from __future__ import annotations

import gc
import hashlib
import json
import select
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

Step = Callable[[], Any]
COLLECTIONS: list[list[int]] = []  # of the oldest generation, which go through all objects
STOLEN: list[list[int]] = []
EVERY = 10_000_000  # nanoseconds between readings of what was stolen


def collected(phase: str, info: dict[str, int]) -> None:
    own = threading.current_thread() is threading.main_thread()
    if own and info["generation"] == 2:
        now = time.monotonic_ns()
        if phase == "start":
            COLLECTIONS.append([now])
        else:
            COLLECTIONS[-1] += [now, now - COLLECTIONS[-1][0]]


def stolen() -> int:
    """Nanoseconds since the system began; see proc(5)."""
    with Path("/proc/stat").open(encoding="ascii") as file:
        return int(file.readline().split()[8]) * 10_000_000


def until_told(step: Step) -> list[int]:
    """Train until something is on stdin: the end of each step."""
    ends = []
    read, before = time.monotonic_ns(), stolen()
    while not select.select([sys.stdin], [], [], 0)[0]:
        step()
        now = time.monotonic_ns()
        ends.append(now)
        if now - read > EVERY:
            after = stolen()
            if after > before:
                STOLEN.append([read, now, after - before])
            read, before = now, after
    return ends


def arrays() -> tuple[Any, Any]:
    rng = np.random.RandomState(0)
    x = rng.rand(64, 8).astype("float32")
    return x, x.sum(1, keepdims=True)


def session() -> tuple[Step, Step]:
    v1 = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default():
        x, y = arrays()
        fed, wanted = v1.placeholder(tf.float32, [None, 8]), v1.placeholder(tf.float32, [None, 1])
        weights = v1.get_variable("weights", [8, 1], initializer=v1.zeros_initializer())
        loss = tf.reduce_mean((fed @ weights - wanted) ** 2)
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        opened = v1.Session(graph=graph)
        opened.run(v1.global_variables_initializer())
    return lambda: opened.run(train, {fed: x, wanted: y}), lambda: opened.run(weights)


def eager() -> tuple[Step, Step]:
    x, y = map(tf.constant, arrays())
    weights = tf.Variable(tf.zeros([8, 1]))
    optimizer = tf.keras.optimizers.SGD(0.01)

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weights - y) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])

    return step, weights.numpy


def compiled() -> tuple[Step, Step]:
    step, weights = eager()
    return tf.function(step), weights


def main() -> None:
    step, weights = {"session": session, "eager": eager, "compiled": compiled}[sys.argv[1]]()
    step()
    count = 1
    gc.callbacks.append(collected)
    print("ready", flush=True)
    for line in sys.stdin:
        asked = line.strip()
        if not asked:
            break
        if asked == "go":
            ends = until_told(step)
            sys.stdin.readline()
            print(json.dumps([ends, COLLECTIONS, STOLEN]), flush=True)
            COLLECTIONS.clear()
            STOLEN.clear()
            count += len(ends)
        else:
            began = time.process_time_ns()
            for _ in range(int(asked)):
                step()
            print(time.process_time_ns() - began, flush=True)
            count += int(asked)
    print(count, hashlib.sha256(np.asarray(weights()).tobytes()).hexdigest(), flush=True)


main()
