# steps: 600, 340
"""A compiled step that two loops call for long, with batches from a dataset and a loss that is read now and then."""

import tensorflow as tf

tf.keras.utils.set_random_seed(1)
features = tf.random.normal([640, 8])
data = tf.data.Dataset.from_tensor_slices(features).batch(32).repeat()
weights = tf.Variable(tf.random.normal([8, 1]))


@tf.function
def train(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(batch, weights) - 1.0))
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


for step, batch in enumerate(data.take(600)):  # <-- loop
    loss = train(batch)
    if step % 50 == 0:
        print(f"{step}: {loss.numpy():.4f}")

for step in range(340):  # <-- loop
    loss = train(features[:32])
print(f"{loss.numpy():.4f}")
