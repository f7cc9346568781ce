# expect: slow-callbacks
# steps: 2400
"""A LambdaCallback smooths the whole history of losses again after every batch."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
features = rng.normal(size=(12800, 8)).astype("float32")
target = features @ rng.normal(size=(8, 1)).astype("float32")
history = []
smooth = []


def remember(batch, logs):
    global smooth
    history.append(logs["loss"])
    smooth = [sum(history[max(0, i - 8) : i + 1]) / min(i + 1, 9) for i in range(len(history))]  # <-- slow-callbacks


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.SGD(0.01), loss="mse")
model.fit(features, target, batch_size=32, epochs=6, verbose=0, callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=remember)])
print("smoothed loss", smooth[-1])
