# expect: native-growth
# steps: 2400
"""A queue of past batches inside TensorFlow that is filled in every step and never read."""

import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([512, 256])
y = tf.random.normal([512, 1])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(256).repeat()
model = tf.keras.Sequential([tf.keras.layers.Dense(512, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01)
past = tf.queue.FIFOQueue(1_000_000, [tf.float32], shapes=[[256, 256]])


@tf.function
def train(bx, by):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(bx) - by) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    past.enqueue(bx)
    return loss


for bx, by in data.take(2400):
    loss = train(bx, by)
print("loss", round(float(loss), 3))
