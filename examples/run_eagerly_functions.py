# expect: run-eagerly
# steps: 150
"""All compiled functions were told to run eagerly, for a debugger that is long gone."""

import tensorflow as tf

tf.config.run_functions_eagerly(True)  # <-- run-eagerly
tf.keras.utils.set_random_seed(1)
features = tf.random.normal([1024, 16])
targets = tf.sin(tf.reduce_sum(features, axis=1, keepdims=True))
model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
model.build([None, 16])
optimizer = tf.keras.optimizers.Adam(0.01)


@tf.function
def train_step(batch, wanted):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(batch, training=True) - wanted))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for step in range(150):
    rows = slice(step % 16 * 64, step % 16 * 64 + 64)
    loss = train_step(features[rows], targets[rows])
print(f"loss {loss.numpy():.4f}")
