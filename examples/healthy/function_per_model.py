# expect: nothing
# steps: 1000
"""Cross-validation: a compiled step for each of five models, each of them trained for long."""

import tensorflow as tf

tf.random.set_seed(1)
features = tf.random.normal([1000, 32])
targets = tf.reduce_sum(features, axis=1, keepdims=True)


def make_step(hidden, output):
    @tf.function
    def train_step(batch, wanted):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.nn.relu(batch @ hidden) @ output - wanted))
        for weight, gradient in zip((hidden, output), tape.gradient(loss, (hidden, output))):
            weight.assign_sub(0.01 * gradient)
        return loss

    return train_step


def train(fold):
    hidden = tf.Variable(tf.random.normal([32, 256], stddev=0.1))
    output = tf.Variable(tf.random.normal([256, 1], stddev=0.1))
    train_step = make_step(hidden, output)
    rest = tf.concat([features[: fold * 200], features[fold * 200 + 200 :]], axis=0)
    wanted = tf.concat([targets[: fold * 200], targets[fold * 200 + 200 :]], axis=0)
    for step in range(200):
        loss = train_step(rest, wanted)
    return loss


for fold in range(5):
    print(f"fold {fold} loss {train(fold).numpy():.4f}")
