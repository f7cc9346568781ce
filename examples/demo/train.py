"""A small classifier with a warm-up of the learning rate and a look at one example every other step."""

import numpy as np
import tensorflow as tf

STEPS, BATCH = 120, 64

rng = np.random.default_rng(7)
x = rng.normal(size=(4096, 32)).astype("float32")
y = (x[:, :4].sum(axis=1) > 0).astype("int32")

tf.keras.utils.set_random_seed(7)
model = tf.keras.Sequential(
    [
        tf.keras.Input((32,)),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(2),
    ]
)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(inputs, labels, rate):
    with tf.GradientTape() as tape:
        loss = loss_of(labels, model(inputs, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    for variable, gradient in zip(model.trainable_variables, gradients):
        variable.assign_sub(rate * gradient)
    return loss


batches = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(BATCH).take(STEPS)
for step, (inputs, labels) in enumerate(batches):
    rate = 0.05 * min(1.0, (step + 1) / STEPS)
    loss = train_step(inputs, labels, rate)
    if step % 2 == 0:
        sure = model.predict(x[:1], verbose=0).max()
    if step % 40 == 39:
        print(f"step {step + 1}: loss {float(loss):.4f}, example 0: {sure:.2f}")
