"""The eight training loops whose cost is measured, from the longest step to the shortest, and a script that times them.

python bench/loops.py STYLE…    writes one JSON line per style to the file that $BENCH_OUT names
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Step = Callable[[], object]


@dataclass(frozen=True)
class Style:
    """A loop: how its step is made, how many warm it up, and how many are timed; a call may make several steps."""

    title: str
    make: Callable[[], Step]
    warm: int
    timed: int
    steps: int = 1  # that one call makes
    target: float = 0.0  # the ratio that recording may reach; 0 where none is set
    settle: float = 0.02  # seconds of calls after which a switch of recording no longer shows
    longer: int = 1  # times as long as others it must be measured, where such a switch takes long


def compiled(batch: int, width: int) -> Step:
    import tensorflow as tf

    x = tf.random.normal([batch, width])
    w = tf.Variable(tf.random.normal([width, width]) * 0.01)

    @tf.function
    def train(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.matmul(x, w) ** 2)
        w.assign_sub(0.01 * tape.gradient(loss, w))
        return loss

    return lambda: train(x)


def session(batch: int, width: int) -> Step:
    import numpy as np
    import tensorflow.compat.v1 as tf

    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, width])
        w = tf.get_variable("w", [width, width])
        train = tf.train.GradientDescentOptimizer(0.01).minimize(
            tf.reduce_mean(tf.matmul(x, w) ** 2)
        )
        held = tf.Session(graph=graph)
        held.run(tf.global_variables_initializer())
    feed = {x: np.ones([batch, width], "float32")}
    return lambda: held.run(train, feed)


def eager() -> Step:
    import tensorflow as tf

    x = tf.random.normal([64, 32])
    layers = [tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(1)]
    model = tf.keras.Sequential(layers)
    optimizer = tf.keras.optimizers.Adam(0.001)

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))

    return step


EPOCH = 200  # steps of one call of fit


def fit(data: bool) -> Step:
    import numpy as np
    import tensorflow as tf

    x, y = np.ones([EPOCH * 32, 64], "float32"), np.ones([EPOCH * 32, 1], "float32")
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(128, activation="relu"), tf.keras.layers.Dense(1)]
    )
    model.compile("sgd", "mse")
    if data:
        pipeline = tf.data.Dataset.from_tensor_slices((x, y)).batch(32).prefetch(2)
        return lambda: model.fit(pipeline, epochs=1, verbose=0)
    return lambda: model.fit(x, y, batch_size=32, epochs=1, verbose=0)


STYLES = {
    "compiled-30ms": Style(
        "compiled, 30 ms", lambda: compiled(2048, 1024), 20, 100, target=1.01, settle=0.05
    ),
    "session-5ms": Style("TF1 session, 5 ms", lambda: session(640, 640), 30, 300, target=1.01),
    "compiled-3ms": Style("compiled, 3 ms", lambda: compiled(512, 512), 20, 200),
    "eager": Style("eager tape", eager, 15, 150, target=1.01, settle=0.35, longer=3),
    "fit-arrays": Style("Keras fit on arrays", lambda: fit(False), 2, 3, EPOCH),
    "fit-data": Style("Keras fit on tf.data", lambda: fit(True), 2, 3, EPOCH),
    "compiled-0.3ms": Style("compiled, 0.3 ms", lambda: compiled(64, 128), 300, 2000, target=1.03),
    "session-0.2ms": Style("TF1 session, 0.2 ms", lambda: session(32, 32), 300, 3000, target=1.03),
}


def timed(style: Style) -> list[float]:
    """Seconds of each timed call."""
    step, clock = style.make(), time.perf_counter
    for _ in range(style.warm):
        step()
    marks = [clock()]
    for _ in range(style.timed):
        step()
        marks.append(clock())
    return [after - before for before, after in itertools.pairwise(marks)]


def main() -> None:
    entered = time.monotonic()
    import tensorflow as tf

    imported = time.monotonic()
    profiled = os.environ.get("BENCH_PROFILER")
    if profiled:
        tf.profiler.experimental.start(profiled)
    began = float(os.environ["BENCH_BEGAN"])
    with Path(os.environ["BENCH_OUT"]).open("a", encoding="utf-8", buffering=1) as out:
        out.write(json.dumps({"entered": entered - began, "imported": imported - began}) + "\n")
        for name in sys.argv[1:]:
            style = STYLES[name]
            calls = timed(style)
            ordered = sorted(calls)
            out.write(
                json.dumps(
                    {
                        "style": name,
                        "mean": sum(calls) / len(calls) / style.steps,
                        "middle": ordered[len(ordered) // 2] / style.steps,
                        "steps": (style.timed + style.warm) * style.steps,
                    }
                )
                + "\n"
            )
        if profiled:
            tf.profiler.experimental.stop()
        status = Path("/proc/self/status").read_text()
        peak = next(
            (
                int(line.split()[1]) * 1024
                for line in status.splitlines()
                if line.startswith("VmHWM")
            ),
            0,
        )
        out.write(json.dumps({"peak": peak, "done": time.monotonic() - began}) + "\n")


if __name__ == "__main__":
    main()
