# expect: nothing
# steps: 1500
"""A compiled step with a slow first call, as every compiled step has one, and nothing else."""

import tensorflow as tf

tf.random.set_seed(1)
model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu") for _ in range(4)] + [tf.keras.layers.Dense(1)])
model.build((None, 32))
optimizer = tf.keras.optimizers.Adam(1e-3)
features = tf.random.normal((512, 32))
targets = tf.reduce_sum(features, axis=1, keepdims=True)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for step in range(1500):
    loss = train_step(features, targets)
print(f"loss {float(loss):.4f}")
