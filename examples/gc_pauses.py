# expect: gc-pauses
# steps: 240
"""A training that calls the garbage collector in every tenth step, in the hope of saving memory."""

import gc

import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([512, 64])
y = tf.random.normal([512, 1])
weights = tf.Variable(tf.zeros([64, 1]))


@tf.function
def train():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.matmul(x, weights) - y) ** 2)
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


for step in range(240):
    loss = train()
    if step % 10 == 0:
        gc.collect()  # <-- gc-pauses
print("loss", round(float(loss), 3))
