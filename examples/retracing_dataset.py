# expect: retracing
# also: iterator-rebuilt, input-bound
# steps: 160
"""The input pipeline is put together again in every epoch, and its functions are traced each time."""

import tensorflow as tf

tf.random.set_seed(1)
features = tf.random.normal([128, 16])
targets = tf.reduce_sum(features, axis=1, keepdims=True)
weights = tf.Variable(tf.zeros([16, 1]))


def prepare(x, y):
    x = tf.where(tf.abs(x) > 3.0, tf.zeros_like(x), x)
    for shift in (1, -1, 2, -2):
        x = 0.9 * x + 0.025 * tf.roll(x, shift, axis=-1)
    return x, y


@tf.function
def train_step(batch, wanted):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(batch @ weights - wanted))
    weights.assign_sub(0.05 * tape.gradient(loss, weights))
    return loss


for epoch in range(40):
    dataset = tf.data.Dataset.from_tensor_slices((features, targets)).batch(32)
    dataset = dataset.map(prepare)  # <-- retracing
    for batch, wanted in dataset:
        loss = train_step(batch, wanted)
print(f"loss {loss.numpy():.4f}")
