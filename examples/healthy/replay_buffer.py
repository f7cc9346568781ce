# A replay buffer that fills up to its bound and then stays there: meant to be, and quiet.
# expect: nothing
# steps: 400
import collections

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.RandomState(0)
network = tf.keras.Sequential([tf.keras.Input([64]), tf.keras.layers.Dense(256, activation="relu"), tf.keras.layers.Dense(4)])
optimizer = tf.keras.optimizers.Adam(0.001)
buffer = collections.deque(maxlen=2000)
recent = []


@tf.function(reduce_retracing=True)
def learn(states, returns):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.reduce_max(network(states), axis=1) - returns) ** 2)
    weights = network.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


losses = []
for episode in range(400):
    for state in rng.rand(8, 64).astype("float32"):
        buffer.append(state)
    recent.append(rng.rand(20000).astype("float32"))
    if len(recent) > 30:
        recent.pop(0)
    rows = rng.randint(0, len(buffer), 256)
    batch = np.stack([buffer[row] for row in rows])
    loss = learn(tf.constant(batch), tf.constant(rng.rand(256).astype("float32")))
    losses.append(float(loss))
print("episodes", len(losses))
