import os
import random

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def seed_everything(seed):
    os.environ["PYTHONHASHSEED"] = str(seed)
    random.seed(seed)
    np.random.seed(seed)
    tf.random.set_seed(seed)


class NoisyBatches:
    """Each batch gets its own noise, the same noise whenever the run is repeated."""

    def __init__(self, x, y, batch, base_seed):
        self.x, self.y, self.batch, self.base_seed = x, y, batch, base_seed

    def get(self, step):
        seed_everything(self.base_seed + step)
        idx = np.random.randint(0, len(self.x), self.batch)
        noise = 0.02 * np.random.randn(self.batch, self.x.shape[1])
        return tf.constant(self.x[idx] + noise, tf.float32), tf.constant(self.y[idx], tf.float32)


def build(n_in):
    inp = layers.Input((n_in,))
    h = inp
    for _ in range(2):
        skip = layers.Dense(96)(h)
        h = layers.Dense(96, activation="gelu")(h)
        h = layers.Dropout(0.1)(h)
        h = layers.LayerNormalization()(layers.Add()([h, skip]))
    return tf.keras.Model(inp, layers.Dense(1)(h))


def main(steps=40, base_seed=1234):
    seed_everything(base_seed)
    x = np.random.randn(20000, 32)
    y = np.sin(x[:, :1]) + 0.3 * x[:, 1:2] * x[:, 2:3]
    data = NoisyBatches(x, y, 128, base_seed)
    model = build(32)
    optimizer = tf.keras.optimizers.AdamW(1e-3)
    optimizer.build(model.trainable_variables)

    @tf.function
    def train_step(bx, by):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(bx, training=True) - by))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    history = []
    for step in range(steps):
        bx, by = data.get(step)
        history.append(float(train_step(bx, by)))
        if step % 10 == 9:
            print("step %d: mse %.4f" % (step + 1, np.mean(history[-10:])))


if __name__ == "__main__":
    main()
