"""Callbacks for the bearing classifier."""
import json
from pathlib import Path

import numpy as np
from keras.callbacks import Callback


class LossTrace(Callback):
    """Keeps the raw loss of every update and a robust trend; the file can be followed while it trains."""

    def __init__(self, path, window=25):
        super().__init__()
        self.path, self.window = Path(path), window
        self.rows = []

    def on_train_batch_end(self, batch, logs=None):
        self.rows.append({"update": len(self.rows), "loss": round(float(logs["loss"]), 6)})
        losses = [row["loss"] for row in self.rows]
        self.rows[-1]["trend"] = float(np.median(losses[-self.window :]))
        self.path.write_text(json.dumps(self.rows, indent=1))


class ClassTable(Callback):
    """Recall and mean confidence of each condition on the held-out recordings."""

    def __init__(self, x, y, names):
        super().__init__()
        self.x, self.y, self.names = x, y, names

    def on_epoch_end(self, epoch, logs=None):
        cells = []
        for k, name in enumerate(self.names):
            p = self.model.predict(self.x[self.y == k], verbose=0)
            recall = float(np.mean(p.argmax(1) == k))
            cells.append(f"{name} {recall:.2f}/{p[:, k].mean():.2f}")
        print(f"epoch {epoch + 1}: loss {logs['loss']:.4f} | " + " | ".join(cells))
