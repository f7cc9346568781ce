# expect: nothing
# steps: 400
"""A compiled step whose first call takes long, and no other."""

import tensorflow as tf

tf.keras.utils.set_random_seed(1)
features = tf.random.normal([1024, 64])
labels = tf.cast(tf.reduce_sum(features, axis=1) > 0, tf.int32)
model = tf.keras.Sequential([tf.keras.layers.Dense(256, activation="relu") for _ in range(4)] + [tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam(1e-3)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(batch, wanted):
    with tf.GradientTape() as tape:
        loss = loss_of(wanted, model(batch, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for step in range(400):
    begin = step % 4 * 256
    loss = train_step(features[begin : begin + 256], labels[begin : begin + 256])
print(f"loss {loss.numpy():.4f}")
