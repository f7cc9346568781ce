import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

tf.random.set_seed(12)
SIZE, NOISE, BATCH, STEPS = 28, 32, 32, 100


def boards(n=30000):
    rng = np.random.default_rng(12)
    small = rng.integers(0, 2, (n, 7, 7, 1)).astype("float32")
    return small.repeat(4, axis=1).repeat(4, axis=2) * 2 - 1


generator = tf.keras.Sequential([
    tf.keras.Input((NOISE,)),
    layers.Dense(7 * 7 * 16, activation="relu"),
    layers.Reshape((7, 7, 16)),
    layers.Conv2DTranspose(16, 4, strides=2, padding="same", activation="relu"),
    layers.Conv2DTranspose(1, 4, strides=2, padding="same", activation="tanh"),
])
critic = tf.keras.Sequential([
    tf.keras.Input((SIZE, SIZE, 1)),
    layers.Conv2D(16, 4, strides=2, padding="same", activation="leaky_relu"),
    layers.Conv2D(32, 4, strides=2, padding="same", activation="leaky_relu"),
    layers.Flatten(),
    layers.Dense(1),
])
g_opt = tf.keras.optimizers.Adam(2e-4, beta_1=0.5)
c_opt = tf.keras.optimizers.Adam(2e-4, beta_1=0.5)
bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def update(real):
    z = tf.random.normal((BATCH, NOISE))
    with tf.GradientTape() as gt, tf.GradientTape() as ct:
        fake = generator(z, training=True)
        lr, lf = critic(real, training=True), critic(fake, training=True)
        g_loss = bce(tf.ones_like(lf), lf)
        c_loss = bce(tf.ones_like(lr), lr) + bce(tf.zeros_like(lf), lf)
    g_opt.apply_gradients(zip(gt.gradient(g_loss, generator.trainable_variables), generator.trainable_variables))
    c_opt.apply_gradients(zip(ct.gradient(c_loss, critic.trainable_variables), critic.trainable_variables))
    return g_loss, c_loss, fake


dataset = tf.data.Dataset.from_tensor_slices(boards()).shuffle(30000).batch(BATCH, drop_remainder=True)
writer = tf.summary.create_file_writer(os.path.join(tempfile.mkdtemp(), "gan"))

with writer.as_default():
    for step in range(STEPS):
        real = next(iter(dataset))
        g_loss, c_loss, fake = update(real)
        tf.summary.scalar("loss/generator", g_loss, step=step)
        tf.summary.scalar("loss/critic", c_loss, step=step)
        tf.summary.image("samples", tf.repeat(tf.repeat(fake, 4, 1), 4, 2) * 0.5 + 0.5, step=step, max_outputs=8)
        for v in generator.trainable_variables:
            tf.summary.histogram(v.path, v, step=step)
        if step % 40 == 0:
            print(step, float(g_loss), float(c_loss))
