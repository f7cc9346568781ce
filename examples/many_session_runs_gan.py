# expect: many-session-runs
# steps: 200
"""A TF1 GAN that evaluates its three losses one by one, after the updates of its two networks."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
rng = np.random.default_rng(1)
images = rng.normal(size=(2048, 256)).astype("float32")
codes = rng.normal(size=(2048, 32)).astype("float32")


def layer(inputs, size, name):
    with tf.variable_scope(name, reuse=tf.AUTO_REUSE):
        return tf.matmul(inputs, tf.get_variable("w", [int(inputs.shape[-1]), size]))


def critic(inputs):
    return layer(tf.nn.relu(layer(inputs, 256, "critic_1")), 1, "critic_2")


def loss_of(logits, wanted):
    labels = tf.fill(tf.shape(logits), wanted)
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))


real = tf.placeholder(tf.float32, [None, 256])
noise = tf.placeholder(tf.float32, [None, 32])
made = tf.tanh(layer(tf.nn.relu(layer(noise, 256, "maker_1")), 256, "maker_2"))
on_real, on_made = loss_of(critic(real), 1.0), loss_of(critic(made), 0.0)
fooled = loss_of(critic(made), 1.0)
critics = [weight for weight in tf.trainable_variables() if "critic" in weight.name]
makers = [weight for weight in tf.trainable_variables() if "maker" in weight.name]
train_critic = tf.train.AdamOptimizer(1e-4).minimize(on_real + on_made, var_list=critics)
train_maker = tf.train.AdamOptimizer(1e-4).minimize(fooled, var_list=makers)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(200):
        first = step % 16 * 128
        fed = {real: images[first : first + 128], noise: codes[first : first + 128]}
        session.run(train_critic, feed_dict=fed)
        session.run(train_maker, feed_dict=fed)
        losses = [
            on_real.eval(fed),  # <-- many-session-runs
            on_made.eval(fed),
            fooled.eval(fed),
        ]
print(f"losses {losses[0]:.4f} {losses[1]:.4f} {losses[2]:.4f}")
