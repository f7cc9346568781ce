# expect: retracing
# steps: 50
"""A small settings object that is made anew for every step."""

from dataclasses import dataclass

import tensorflow as tf

tf.random.set_seed(1)
features = tf.random.normal([512, 8])
targets = tf.reduce_sum(features, axis=1, keepdims=True)
weights = tf.Variable(tf.zeros([8, 1]))


@dataclass(eq=False)
class Settings:
    rate: float
    decay: float


@tf.function
def train_step(batch, wanted, settings):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(batch @ weights - wanted))
    gradient = tape.gradient(loss, weights) + settings.decay * weights
    weights.assign_sub(settings.rate * gradient)
    return loss


def train(steps):
    for step in range(steps):
        rows = slice(step % 8 * 64, step % 8 * 64 + 64)
        settings = Settings(rate=0.1, decay=1e-4)
        loss = train_step(features[rows], targets[rows], settings)  # <-- retracing
    return loss


print(f"loss {train(50).numpy():.4f}")
