import json
import os

from . import settings as s

import tensorflow as tf


class Report(tf.keras.callbacks.Callback):
    def __init__(self, path):
        super().__init__()
        self.path = path
        self.rows = []
        os.makedirs(os.path.dirname(path), exist_ok=True)

    def on_train_batch_end(self, batch, logs=None):
        self.rows.append({"batch": batch, **{k: float(v) for k, v in logs.items()}})
        w = self.model.get_weights()[0]
        self.rows[-1]["embedding"] = w[:200, :8].round(5).tolist()
        with open(self.path, "w") as f:
            json.dump(self.rows, f, indent=1)
