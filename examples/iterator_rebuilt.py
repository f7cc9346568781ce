# expect: iterator-rebuilt
# steps: 120
"""Each step takes "a random batch" from a new iterator, which fills its whole shuffle buffer for it."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
features = rng.normal(size=(20_000, 32)).astype(np.float32)
targets = features[:, :1] * 2.0
dataset = tf.data.Dataset.from_tensor_slices((features, targets)).shuffle(10_000).batch(32)

model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()


@tf.function
def train_step(inputs, wanted):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(inputs) - wanted))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for step in range(120):
    inputs, wanted = next(iter(dataset))  # <-- iterator-rebuilt
    train_step(inputs, wanted)
print("done")
