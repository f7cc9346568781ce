# expect: memory-pressure
# steps: 150
# needs: rights to limit memory
"""A job with less memory than the table that it reads at random: pages of it come from the disk again and again.

The limit, which a container or a cluster would set, is set by the script itself: that needs the rights to do so.
"""

import atexit
import os
import tempfile
from pathlib import Path

import numpy as np


def limit_memory(megabytes):
    """Go into a control group of our own, of version 1 or 2, that has so much memory."""
    old, new = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
    root, file = (old, "memory.limit_in_bytes") if old.exists() else (new, "memory.max")
    group = root / f"limited-{os.getpid()}"
    group.mkdir()
    (group / file).write_text(str(megabytes << 20))
    (group / "cgroup.procs").write_text(str(os.getpid()))
    atexit.register(group.rmdir)
    atexit.register((root / "cgroup.procs").write_text, str(os.getpid()))  # before that


limit_memory(900)  # before TensorFlow is there

import tensorflow as tf  # noqa: E402

ROWS, WIDTH = 60_000, 4096
place = tempfile.TemporaryDirectory()
table = np.memmap(Path(place.name) / "table", np.float32, "w+", shape=(ROWS, WIDTH))
for start in range(0, ROWS, 1000):
    table[start : start + 1000] = np.random.default_rng(start).standard_normal((1000, WIDTH), np.float32)

model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01)


@tf.function
def train_step(rows):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(rows)))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


random = np.random.default_rng(0)
for step in range(150):
    rows = table[random.integers(0, ROWS, 64)]
    train_step(rows)
print("done")
