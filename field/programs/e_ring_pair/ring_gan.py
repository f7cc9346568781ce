"""LSGAN with a feature-matching term; two networks, two optimizers, one loop."""
import numpy as np
import tensorflow as tf
from tensorflow import keras

BATCH, LATENT, STEPS = 64, 48, 70
keras.utils.set_random_seed(40)


def rings(n, size=32):
    r = np.random.default_rng(40)
    yy, xx = np.mgrid[-1:1:size * 1j, -1:1:size * 1j]
    cx, cy = r.uniform(-0.3, 0.3, (2, n, 1, 1))
    rad = r.uniform(0.3, 0.7, (n, 1, 1))
    d = np.sqrt((xx - cx) ** 2 + (yy - cy) ** 2) - rad
    return (2 * np.exp(-(d / 0.08) ** 2) - 1).astype(np.float32)[..., None]


def up(filters):
    return [keras.layers.Conv2DTranspose(filters, 4, strides=2, padding="same"), keras.layers.LeakyReLU(0.1)]


G = keras.Sequential([keras.Input((LATENT,)), keras.layers.Dense(8 * 8 * 64), keras.layers.Reshape((8, 8, 64)),
                      *up(64), *up(48), keras.layers.Conv2D(1, 3, padding="same", activation="tanh")])

d_in = keras.Input((32, 32, 1))
f = keras.layers.Conv2D(48, 4, strides=2, padding="same", activation="leaky_relu")(d_in)
f = keras.layers.Conv2D(64, 4, strides=2, padding="same", activation="leaky_relu")(f)
features = keras.layers.Flatten()(f)
D = keras.Model(d_in, [keras.layers.Dense(1)(features), features])

g_opt = keras.optimizers.Adam(2e-4, beta_1=0.5)
d_opt = keras.optimizers.RMSprop(1e-4)


@tf.function
def critic_step(real):
    z = tf.random.normal([BATCH, LATENT])
    fake = G(z, training=True)
    with tf.GradientTape() as tape:
        s_real, _ = D(real, training=True)
        s_fake, _ = D(fake, training=True)
        loss = tf.reduce_mean((s_real - 1) ** 2) + tf.reduce_mean(s_fake ** 2)
    d_opt.apply_gradients(zip(tape.gradient(loss, D.trainable_variables), D.trainable_variables))
    return loss


@tf.function
def generator_step(real):
    z = tf.random.normal([BATCH, LATENT])
    with tf.GradientTape() as tape:
        score, inner = D(G(z, training=True), training=True)
        _, target = D(real, training=True)
        match = tf.reduce_mean(tf.abs(tf.reduce_mean(inner, 0) - tf.reduce_mean(target, 0)))
        loss = tf.reduce_mean((score - 1) ** 2) + 0.5 * match
    g_opt.apply_gradients(zip(tape.gradient(loss, G.trainable_variables), G.trainable_variables))
    return loss, match


data = tf.data.Dataset.from_tensor_slices(rings(3000)).shuffle(1000, seed=1).repeat().batch(BATCH).prefetch(1)
trace = {"d": [], "g": [], "match": []}
for i, real in zip(range(STEPS), data):
    d = critic_step(real)
    g, match = generator_step(real)
    trace["d"].append(d.numpy())
    trace["g"].append(g.numpy())
    trace["match"].append(match.numpy())
    if (i + 1) % 10 == 0:
        print(" ".join("%s %.3f" % (k, np.mean(v[-10:])) for k, v in trace.items()))
