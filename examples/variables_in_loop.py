# expect: variables-in-loop
# steps: 300
"""A compiled step between metrics that are made anew in every iteration."""

import tensorflow as tf

tf.random.set_seed(1)
features = tf.random.normal((256, 32))
targets = tf.reduce_sum(features, axis=1, keepdims=True)
weights = tf.Variable(tf.zeros((32, 1)))
optimizer = tf.keras.optimizers.SGD(0.01)
optimizer.build([weights])


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ weights - y))
    optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
    return loss


for step in range(300):
    average = tf.keras.metrics.Mean(name="loss")  # <-- variables-in-loop
    average.update_state(train_step(features, targets))
print(f"loss {float(average.result()):.4f}")
