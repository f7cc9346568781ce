# expect: function-in-loop
# steps: 60
"""A compiled function that is defined inside the one that is called for every batch."""

import tensorflow as tf

tf.random.set_seed(1)
features = tf.random.normal([512, 8])
targets = tf.reduce_sum(features, axis=1, keepdims=True)
weights = tf.Variable(tf.zeros([8, 1]))


def train_on(batch, wanted):
    @tf.function  # <-- function-in-loop
    def update(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x @ weights - y))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    return update(batch, wanted)


def main():
    for step in range(60):
        rows = slice(step % 8 * 64, step % 8 * 64 + 64)
        loss = train_on(features[rows], targets[rows])
    print(f"loss {loss.numpy():.4f}")


main()
