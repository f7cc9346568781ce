# expect: predict-in-loop
# steps: 60
"""Keras fit with a callback that watches one example after every batch."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(960, 16)).astype("float32")
y = (x[:, :1] > 0).astype("float32")


class Watch(keras.callbacks.Callback):
    def __init__(self, example):
        super().__init__()
        self.example = example
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        score = self.model.predict(self.example, batch_size=1, verbose=0)  # <-- predict-in-loop
        self.seen.append(float(score[0, 0]))


model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy")
watch = Watch(x[:1])
model.fit(x, y, batch_size=32, epochs=2, verbose=0, callbacks=[watch])
print("seen", len(watch.seen), watch.seen[-1])
