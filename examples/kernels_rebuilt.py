# expect: kernels-rebuilt
# steps: 120
"""A compiled step whose random seed is set anew in every tenth iteration, "for reproducibility"."""

import tensorflow as tf

tf.random.set_seed(7)
features = tf.random.normal((1024, 64))
targets = tf.reduce_sum(features, axis=1, keepdims=True)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dropout(0.1),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(1),
    ]
)
optimizer = tf.keras.optimizers.Adam(1e-3)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for step in range(120):
    if step % 10 == 9:
        tf.random.set_seed(step)  # <-- kernels-rebuilt
    loss = train_step(features, targets)
print(f"loss {float(loss):.4f}")
