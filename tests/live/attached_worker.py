"""One of two workers that train together until a file appears in the folder that they are given."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

STOP = Path(sys.argv[1]) / "stop"
STEPS = 10  # of an epoch: both workers look for the file at the same step


class Until(tf.keras.callbacks.Callback):  # type: ignore[misc]
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if not batch:
            print("begun", flush=True)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.model.stop_training = STOP.exists()


strategy = tf.distribute.MultiWorkerMirroredStrategy()
rng = np.random.RandomState(0)
x = rng.rand(64, 8).astype("float32")
data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).repeat().batch(16)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(data, epochs=10**6, steps_per_epoch=STEPS, verbose=0, callbacks=[Until()])
