# expect: nothing
# steps: 400
"""Batches that get larger for a while and then stay: the memory rises with them, and levels off."""

import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([4096, 128])
y = tf.random.normal([4096, 1])
model = tf.keras.Sequential([tf.keras.layers.Dense(256, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01)


@tf.function(input_signature=[tf.TensorSpec([None, 128]), tf.TensorSpec([None, 1])])
def train(bx, by):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(bx) - by) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for step in range(400):
    size = 1024 + 32 * min(step // 10, 8)
    loss = train(x[:size], y[:size])
print("loss", round(float(loss), 3))
