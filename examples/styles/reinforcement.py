# An RL-like loop: many forward calls per update, and a target network.
# steps: 15
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.RandomState(0)
network = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(2)])
target = tf.keras.models.clone_model(network)
target.set_weights(network.get_weights())
optimizer = tf.keras.optimizers.Adam(0.001)
memory = []


@tf.function
def learn(states, returns):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.reduce_max(network(states), axis=1) - returns) ** 2)
    weights = network.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


state = rng.rand(4).astype("float32")
for episode in range(15):  # <-- loop
    for move in range(8):
        action = int(tf.argmax(network(state[None])[0]))
        state = rng.rand(4).astype("float32") + 0.01 * action
        memory.append(state)
    chosen = np.stack([memory[i] for i in rng.randint(0, len(memory), 16)])
    values = tf.reduce_max(target(chosen), axis=1)
    loss = learn(tf.constant(chosen), values)
    if episode % 5 == 4:
        target.set_weights(network.get_weights())
print("done", len(memory))
