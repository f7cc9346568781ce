# expect: optimizer-state
# steps: 20
"""A wide layer trained with Adam: two more numbers for each weight."""

import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([16, 5000])
y = tf.random.normal([16, 5000])
model = tf.keras.Sequential([tf.keras.Input((5000,)), tf.keras.layers.Dense(5000)])
optimizer = tf.keras.optimizers.Adam(1e-4)  # <-- optimizer-state


@tf.function
def train():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for _ in range(20):
    loss = train()
print("loss", round(float(loss), 3))
