# expect: eager-calls
# steps: 60
"""A policy that acts op by op: each update is compiled, the rollout that feeds it is not."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
policy = tf.keras.Sequential(
    [tf.keras.layers.Dense(32, activation="tanh") for _ in range(3)] + [tf.keras.layers.Dense(2)]
)
optimizer = tf.keras.optimizers.Adam(0.01)
policy(tf.zeros([1, 4]))
optimizer.build(policy.trainable_variables)


@tf.function
def update(states, rewards):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((policy(states) - rewards) ** 2)
    gradients = tape.gradient(loss, policy.trainable_variables)
    optimizer.apply_gradients(zip(gradients, policy.trainable_variables))
    return loss


for episode in range(60):
    state = rng.standard_normal([1, 4]).astype("float32")
    states, rewards = [], []
    for turn in range(40):
        scores = policy(state)  # <-- eager-calls
        action = int(tf.argmax(scores, axis=1)[0])
        states.append(state[0])
        rewards.append([state[0, 0] * (action == 0), state[0, 1] * (action == 1)])
        state = np.clip(state + 0.1 * (2 * action - 1), -2, 2)
    loss = update(tf.constant(np.array(states)), tf.constant(np.array(rewards, "float32")))
print("loss", round(float(loss), 3))
