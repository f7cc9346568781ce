# expect: unrolled-loop
# also: slow-first-step
# steps: 30
"""A recurrent model written by hand: the Python loop over time becomes thousands of nodes."""

import tensorflow as tf

tf.random.set_seed(1)
length, width = 60, 24
cell = tf.keras.layers.GRUCell(width)
cell.build((None, 8))
head = tf.keras.layers.Dense(1)
head.build((None, width))
weights = cell.trainable_variables + head.trainable_variables
optimizer = tf.keras.optimizers.SGD(0.05)
optimizer.build(weights)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        state = tf.zeros((32, width))
        for t in range(length):  # <-- unrolled-loop
            state, _ = cell(x[:, t], [state])
        loss = tf.reduce_mean(tf.square(head(state) - y))
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


for step in range(30):
    batch = tf.random.normal((32, length, 8))
    loss = train_step(batch, tf.reduce_mean(batch, axis=(1, 2))[:, None])
print(f"loss {float(loss):.4f}")
