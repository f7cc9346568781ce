"""Next-hour rain from station archives (CSV lines), trained in short rounds with a report after each."""
import os
import tempfile

import numpy as np
import tensorflow as tf

COLS = 12
ROWS = 24000
ROUNDS = 7
STEPS_PER_ROUND = 25
BATCH = 64


def write_archive():
    path = os.path.join(tempfile.mkdtemp(prefix="stations_"), "archive.csv")
    rng = np.random.default_rng(77)
    block = rng.normal(size=(2000, COLS + 1)).round(3)
    lines = [",".join(map(str, r)) for r in block.tolist()]
    with open(path, "w") as f:
        for _ in range(ROWS // 2000):
            f.write("\n".join(lines) + "\n")
    return path


def parse_line(line):
    fields = tf.io.decode_csv(line, [[0.0]] * (COLS + 1))
    return tf.stack(fields[:-1]), tf.stack(fields[-1:])


class Trainer:
    def __init__(self, path):
        self.data = (
            tf.data.TextLineDataset(path)
            .map(parse_line, num_parallel_calls=tf.data.AUTOTUNE)
            .shuffle(20000)
            .batch(BATCH)
            .prefetch(tf.data.AUTOTUNE)
        )
        self.net = tf.keras.Sequential([
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(1),
        ])
        self.opt = tf.keras.optimizers.Adam(1e-3)

    @tf.function
    def update(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.net(x) - y))
        g = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(g, self.net.trainable_variables))
        return loss

    def round(self, number):
        losses = []
        for x, y in self.data.take(STEPS_PER_ROUND):
            losses.append(float(self.update(x, y)))
        print(f"round {number}: {np.mean(losses):.4f}")


if __name__ == "__main__":
    trainer = Trainer(write_archive())
    for r in range(ROUNDS):
        trainer.round(r)
