import tempfile

import keras
import numpy as np
from keras import layers

from watchers import ClassTable, LossTrace

CONDITIONS = ["ok", "inner", "outer", "ball", "cage", "loose", "dry", "bent"]


def recordings(n, rng, length=256):
    """Vibration snippets; each condition rings at its own rate and with its own decay."""
    t = np.arange(length) / length
    y = rng.integers(0, len(CONDITIONS), n)
    rate = 3 + 2.5 * y[:, None] + rng.normal(0, 0.3, (n, 1))
    carrier = np.sin(2 * np.pi * (20 + 4 * y[:, None]) * t + rng.uniform(0, 6.28, (n, 1)))
    envelope = np.exp(-((t * rate) % 1.0) * (2 + y[:, None] % 3))
    x = carrier * envelope + rng.normal(0, 0.6, (n, length))
    return x[..., None].astype("float32"), y


def network():
    inputs = keras.Input((256, 1))
    x = layers.Conv1D(12, 16, strides=4, activation="relu")(inputs)
    x = layers.Conv1D(24, 8, strides=4, activation="relu")(x)
    x = layers.GlobalMaxPooling1D()(x)
    outputs = layers.Dense(len(CONDITIONS), activation="softmax")(x)
    model = keras.Model(inputs, outputs)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def main():
    keras.utils.set_random_seed(8)
    rng = np.random.default_rng(8)
    x, y = recordings(4000, rng)
    xv, yv = recordings(480, rng)
    model = network()
    with tempfile.TemporaryDirectory() as folder:
        model.fit(
            x,
            y,
            batch_size=16,
            epochs=8,
            verbose=0,
            callbacks=[LossTrace(f"{folder}/loss.json"), ClassTable(xv, yv, CONDITIONS)],
        )
    print("held out:", [round(v, 4) for v in model.evaluate(xv, yv, verbose=0)])


if __name__ == "__main__":
    main()
