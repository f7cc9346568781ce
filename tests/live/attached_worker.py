"""One of two workers that train together: `attached_worker.py FOLDER [EPOCHS]`.

Until the epoch whose number appears in a file of the folder, or as many epochs as it is told.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from attached_identity import attributes, changed, digest  # type: ignore[import-not-found]

PLACE = Path(sys.argv[1])
LAST = int(sys.argv[2]) if len(sys.argv) > 2 else 0
STOP = PLACE / "stop"
STEPS = 10  # of an epoch
INDEX = json.loads(os.environ["TF_CONFIG"])["task"]["index"]


class Until(tf.keras.callbacks.Callback):  # type: ignore[misc]
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if not epoch:
            print("begun", flush=True)
        (PLACE / f"epoch-{INDEX}").write_text(str(epoch))
        last = LAST or (int(STOP.read_text()) if STOP.exists() else 0)
        if last:
            self.model.stop_training = epoch >= last


strategy = tf.distribute.MultiWorkerMirroredStrategy()
tf.keras.utils.set_random_seed(1)
rng = np.random.RandomState(0)
x = rng.rand(64, 8).astype("float32")
data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).repeat().batch(16)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
before = attributes()
model.fit(data, epochs=10**6, steps_per_epoch=STEPS, verbose=0, callbacks=[Until()])
said = {
    "count": int(model.optimizer.iterations.numpy()),
    "weights": digest(model.get_weights()),
    "changed": changed(before, attributes()),
}
print(json.dumps(said), flush=True)
