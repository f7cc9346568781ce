# expect: slow-callbacks
# steps: 240
"""Keras fit with a callback that redraws a text chart of all batches after each of them."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(1920, 32)).astype("float32")
y = (x.sum(axis=1, keepdims=True) > 0).astype("float32")


class Chart(keras.callbacks.Callback):
    """Keeps a chart of the loss, as wide as a terminal."""

    def __init__(self, width=160, height=90):
        super().__init__()
        self.width, self.height = width, height
        self.losses = []
        self.rows = []

    def on_train_batch_end(self, batch, logs=None):
        """Add the loss of this batch."""
        self.losses.append(logs["loss"])
        self.rows = self.drawn()

    def drawn(self):
        top = max(self.losses)
        points = np.interp(np.linspace(0, len(self.losses) - 1, self.width), range(len(self.losses)), self.losses)
        cells = [[" "] * self.width for _ in range(self.height)]
        for column in range(self.width):
            for row in range(self.height):
                if points[column] / top >= row / self.height: cells[row][column] = "█"  # <-- slow-callbacks
        return ["".join(row) for row in reversed(cells)]


model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy")
chart = Chart()
model.fit(x, y, batch_size=32, epochs=4, verbose=0, callbacks=[chart])
print("\n".join(chart.rows[-3:]))
