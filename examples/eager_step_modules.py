# expect: eager-step
# steps: 120
"""The step lives in a module of its own, and the loss in another."""

import tensorflow as tf
from eager_step_modules_helpers.learning import learn

tf.keras.utils.set_random_seed(1)
features = tf.random.normal([1024, 16])
targets = tf.sin(tf.reduce_sum(features, axis=1, keepdims=True))
model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
model.build([None, 16])
optimizer = tf.keras.optimizers.Adam(0.01)


def main():
    for step in range(120):
        rows = slice(step % 16 * 64, step % 16 * 64 + 64)
        loss = learn(model, optimizer, features[rows], targets[rows])
    print(f"loss {loss.numpy():.4f}")


main()
