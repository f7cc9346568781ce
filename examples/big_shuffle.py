# expect: big-shuffle
# steps: 60
"""Each epoch fills a buffer of thousands of prepared examples before its first step, for a few steps each."""

import tensorflow as tf


def prepare(seed):
    noise = tf.random.stateless_normal((64, 64), tf.stack([seed, seed + 1]))
    return tf.signal.rfft2d(noise), tf.cast(seed % 10, tf.int32)


dataset = (
    tf.data.Dataset.range(100_000)
    .map(prepare)
    .shuffle(6_000)  # <-- big-shuffle
    .batch(16)
)

model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
optimizer = tf.keras.optimizers.SGD(0.01)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(spectra, labels):
    with tf.GradientTape() as tape:
        loss = loss_of(labels, model(tf.abs(spectra)))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for epoch in range(2):
    for spectra, labels in dataset.take(30):
        train_step(spectra, labels)
print("done")
