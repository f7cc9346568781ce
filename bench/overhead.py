"""What recording costs: the same loop bare and recorded, in fresh processes, in turn; a ratio with its interval.

python bench/overhead.py [pairs] [style …]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from unslow.analyse.growth import bootstrap_ratio  # noqa: E402

TIMED = """
import time
{setup}
for _ in range({warm}):
    step()
began = time.perf_counter()
for _ in range({steps}):
    step()
print((time.perf_counter() - began) / {steps})
"""

FUNCTION = """
import tensorflow as tf
x = tf.random.normal([{batch}, {width}])
w = tf.Variable(tf.random.normal([{width}, {width}]) * 0.01)


@tf.function
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.matmul(x, w) ** 2)
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return loss


def step():
    train(x)
"""

EAGER = """
import tensorflow as tf
x = tf.random.normal([64, 32])
model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(0.001)


def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""

SESSION = """
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, {width}])
w = tf.get_variable("w", [{width}, {width}])
train = tf.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_mean(tf.matmul(x, w) ** 2))
session = tf.Session()
session.run(tf.global_variables_initializer())
feed = {{x: np.ones([{batch}, {width}], "float32")}}


def step():
    session.run(train, feed)
"""

STYLES = {
    "compiled, tiny": (FUNCTION.format(batch=32, width=64), 500, 8000),
    "compiled, middle": (FUNCTION.format(batch=512, width=512), 50, 600),
    "compiled, large": (FUNCTION.format(batch=2048, width=1024), 5, 60),
    "eager": (EAGER, 20, 300),
    "session, tiny": (SESSION.format(batch=32, width=32), 500, 8000),
    "session, middle": (SESSION.format(batch=512, width=512), 50, 600),
}


def once(script: Path, recorded: bool) -> float:
    command = [sys.executable, str(script)]
    with tempfile.TemporaryDirectory() as place:
        if recorded:
            command = [sys.executable, "-m", "unslow", "run", "-q", "--out", f"{place}/run", *command[1:]]
        done = subprocess.run(
            command, cwd=place, capture_output=True, text=True, check=True,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT / "src")},
        )  # fmt: skip
    return float(done.stdout.split()[-1])


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    chosen = sys.argv[2:] or list(STYLES)
    results = {}
    with tempfile.TemporaryDirectory() as place:
        for name in chosen:
            setup, warm, steps = STYLES[name]
            script = Path(place) / "loop.py"
            script.write_text(TIMED.format(setup=setup, warm=warm, steps=steps))
            sides: tuple[list[float], list[float]] = ([], [])
            for pair in range(pairs):
                for which in (0, 1) if pair % 2 == 0 else (1, 0):
                    sides[which].append(once(script, recorded=bool(which)))
            ratio, low, high = bootstrap_ratio(sides[1], sides[0])
            results[name] = {"bare": sides[0], "recorded": sides[1], "ratio": ratio, "low": low, "high": high}
            bare = sorted(sides[0])[len(sides[0]) // 2]
            print(f"{name:<18} {bare * 1e3:8.3f} ms a step   {ratio:.3f}× ({low:.3f} to {high:.3f})", flush=True)
    (ROOT / "bench" / "results.json").write_text(json.dumps(results, indent=1) + "\n")


main()
