#!/usr/bin/env python
# coding: utf-8
# # GAN for interferometer fringes

# In[1]:
import time
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, Model, Input
from tensorflow.keras.optimizers import Adam

tf.keras.utils.set_random_seed(7)
LEN, LATENT, BATCH, EPOCHS = 128, 32, 64, 12
N = 832


# In[2]:
def fringes(n):
    t = np.linspace(0, 1, LEN)
    f = np.random.uniform(3, 9, (n, 1))
    ph = np.random.uniform(0, 2 * np.pi, (n, 1))
    w = np.random.uniform(0.1, 0.3, (n, 1))
    s = np.cos(2 * np.pi * f * t + ph) * np.exp(-((t - 0.5) / w) ** 2)
    return (s + 0.03 * np.random.randn(n, LEN)).astype('float32')


data = fringes(N)
ds = tf.data.Dataset.from_tensor_slices(data).shuffle(N, seed=7).batch(BATCH, drop_remainder=True).prefetch(2)
print('data', data.shape)


# In[3]:
def make_generator():
    z = Input((LATENT,))
    x = layers.Dense(16 * 24)(z)
    x = layers.LeakyReLU()(x)
    x = layers.Reshape((16, 24))(x)
    for ch in (24, 16):
        x = layers.UpSampling1D(2)(x)
        x = layers.Conv1D(ch, 5, padding='same')(x)
        x = layers.BatchNormalization()(x)
        x = layers.LeakyReLU()(x)
    x = layers.UpSampling1D(2)(x)
    x = layers.Conv1D(1, 7, padding='same', activation='tanh')(x)
    return Model(z, layers.Flatten()(x))


def make_discriminator():
    s = Input((LEN,))
    x = layers.Reshape((LEN, 1))(s)
    for ch in (12, 24, 32):
        x = layers.Conv1D(ch, 5, strides=2, padding='same')(x)
        x = layers.LeakyReLU()(x)
        x = layers.Dropout(0.2)(x)
    return Model(s, layers.Dense(1)(layers.Flatten()(x)))


G, D = make_generator(), make_discriminator()
g_opt, d_opt = Adam(2e-4, beta_1=0.5), Adam(2e-4, beta_1=0.5)
g_opt.build(G.trainable_variables)
d_opt.build(D.trainable_variables)
bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)


# In[4]:
@tf.function
def train_step(real, sigma):
    # instance noise, see Sonderby et al. / Arjovsky & Bottou
    z = tf.random.normal((BATCH, LATENT))
    with tf.GradientTape() as gt, tf.GradientTape() as dt:
        fake = G(z, training=True)
        r = D(real + sigma * tf.random.normal(tf.shape(real)), training=True)
        f = D(fake + sigma * tf.random.normal(tf.shape(fake)), training=True)
        d_loss = bce(0.9 * tf.ones_like(r), r) + bce(tf.zeros_like(f), f)
        g_loss = bce(tf.ones_like(f), f)
    d_opt.apply_gradients(zip(dt.gradient(d_loss, D.trainable_variables), D.trainable_variables))
    g_opt.apply_gradients(zip(gt.gradient(g_loss, G.trainable_variables), G.trainable_variables))
    return d_loss, g_loss


def spectrum_gap(samples):
    a = np.abs(np.fft.rfft(samples, axis=1)).mean(0)
    b = np.abs(np.fft.rfft(data[:256], axis=1)).mean(0)
    return float(np.abs(a - b).mean())


# In[5]:
history = {'d': [], 'g': [], 'gap': []}
z_fixed = tf.random.normal((256, LATENT))
t0 = time.time()
for epoch in range(EPOCHS):
    sigma = max(0.0, 0.25 * (1 - epoch / (0.95 * EPOCHS)))
    for batch in ds:
        dl, gl = train_step(batch, sigma)
    history['d'].append(float(dl))
    history['g'].append(float(gl))
    if (epoch + 1) % 4 == 0:
        history['gap'].append(spectrum_gap(G(z_fixed, training=False).numpy()))
        print('epoch %d/%d  sigma %.3f  d %.3f  g %.3f  gap %.3f  [%.1fs]' % (
            epoch + 1, EPOCHS, sigma, history['d'][-1], history['g'][-1], history['gap'][-1], time.time() - t0))


# In[6]:
print('best gap', min(history['gap']))
