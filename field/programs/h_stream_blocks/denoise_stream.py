"""Denoise radar patches that a generator simulates on the fly, block by block."""
import logging
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")


@dataclass(frozen=True)
class Options:
    size: int = 48
    block: int = 32
    steps: int = 90
    width: int = 32
    noise: float = 0.3


class PatchSimulator:
    def __init__(self, opt):
        self.opt = opt
        self.rng = np.random.default_rng(77)
        self.blocks = 0

    def __call__(self):
        o = self.opt
        yy, xx = np.mgrid[0:1:o.size * 1j, 0:1:o.size * 1j].astype(np.float32)
        while True:
            f = self.rng.uniform(2, 16, (o.block, 2, 1, 1)).astype(np.float32)
            clean = np.sin(f[:, 0] * xx + f[:, 1] * yy)[..., None]
            noisy = clean + self.rng.standard_normal(clean.shape, dtype=np.float32) * o.noise
            self.blocks += 1
            yield noisy, clean


def build(o):
    layers = tf.keras.layers
    inputs = tf.keras.Input((o.size, o.size, 1))
    x = layers.Conv2D(o.width, 3, padding="same", activation="relu")(inputs)
    for _ in range(2):
        y = layers.Conv2D(o.width, 3, padding="same", activation="relu")(x)
        x = layers.Add()([x, y])
    outputs = layers.Conv2D(1, 3, padding="same")(x)
    return tf.keras.Model(inputs, layers.Add()([inputs, outputs]))


def main():
    o = Options()
    tf.keras.utils.set_random_seed(7)
    simulator = PatchSimulator(o)
    spec = tf.TensorSpec((o.block, o.size, o.size, 1), tf.float32)
    stream = tf.data.Dataset.from_generator(simulator, output_signature=(spec, spec))
    model = build(o)
    model.compile(tf.keras.optimizers.Adam(1e-3), "mse")

    class Report(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if (batch + 1) % 15 == 0:
                logging.info("block %d  mse %.4f  simulated %d", batch + 1, float(logs["loss"]), simulator.blocks)

    model.fit(stream, steps_per_epoch=o.steps, epochs=1, verbose=0, callbacks=[Report()])
    noisy, clean = next(iter(stream))
    restored = model.predict(noisy, verbose=0)
    logging.info("error before %.4f after %.4f", np.mean((noisy - clean) ** 2), np.mean((restored - clean) ** 2))


if __name__ == "__main__":
    main()
