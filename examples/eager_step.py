# expect: eager-step
# steps: 150
"""A custom training loop whose step runs op by op."""

import tensorflow as tf

tf.keras.utils.set_random_seed(1)
features = tf.random.normal([2048, 16])
targets = tf.sin(tf.reduce_sum(features, axis=1, keepdims=True))

model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(1),
    ]
)
model.build([None, 16])
optimizer = tf.keras.optimizers.Adam(0.01)


def train_step(batch, wanted):  # <-- eager-step
    with tf.GradientTape() as tape:
        guess = model(batch, training=True)
        loss = tf.reduce_mean(tf.square(guess - wanted))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for step in range(150):
    begin = step % 32 * 64
    loss = train_step(features[begin : begin + 64], targets[begin : begin + 64])
print(f"loss {loss.numpy():.4f}")
