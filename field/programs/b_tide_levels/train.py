"""Tide gauge forecaster, plain loop."""
import time

import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
HISTORY, AHEAD, STEPS, BATCH = 96, 24, 200, 256

t = np.arange(40000, dtype="float32")
level = (np.sin(t / 7.1) + 0.4 * np.sin(t / 27.3) + 0.1 * np.random.default_rng(1).normal(size=t.size)).astype("float32")

model = tf.keras.Sequential([
    tf.keras.Input((HISTORY, 1)),
    tf.keras.layers.Conv1D(32, 7, padding="causal", activation="relu"),
    tf.keras.layers.Conv1D(32, 7, padding="causal", dilation_rate=4, activation="relu"),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(128, activation="relu"),
    tf.keras.layers.Dense(AHEAD),
])
optimizer = tf.keras.optimizers.Adam(1e-3)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.abs(model(x, training=True) - y))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


rng = np.random.default_rng(5)
losses, stamps = [], []
for step in range(STEPS):
    start = rng.integers(0, len(level) - HISTORY - AHEAD, BATCH)
    idx = start[:, None] + np.arange(HISTORY + AHEAD)
    window = level[idx]
    loss = train_step(tf.constant(window[:, :HISTORY, None]), tf.constant(window[:, HISTORY:]))
    losses.append(float(loss))
    stamps.append(time.time())
    if step % 100 == 99:
        last = model.predict(level[-HISTORY:].reshape(1, HISTORY, 1), verbose=0)
        print(step + 1, "loss", np.mean(losses[-100:]).round(4), "next hours", last[0, :3].round(2),
              f"{(stamps[-1] - stamps[0]) / (step + 1) * 1e3:.1f} ms/step")
