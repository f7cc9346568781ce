#!/usr/bin/env python
# coding: utf-8

# # Learning the swing equation from trajectories

# In[1]:


import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
rng = np.random.default_rng(0)


# In[2]:


DT = 0.05
HORIZON = 100
BATCH = 64


def simulate(theta, omega):
    path = [np.stack([theta, omega], -1)]
    for _ in range(HORIZON * 5):
        omega = omega + DT / 5 * (-np.sin(theta) - 0.1 * omega)
        theta = theta + DT / 5 * omega
        path.append(np.stack([theta, omega], -1))
    return np.stack(path[::5], 1).astype(np.float32)


paths = simulate(rng.uniform(-2, 2, 512), rng.uniform(-1, 1, 512))
paths.shape


# In[3]:


class Field(tf.Module):
    def __init__(self, width=48):
        super().__init__()
        g = tf.random.Generator.from_seed(4)
        self.w1 = tf.Variable(0.5 * g.normal([2, width]))
        self.b1 = tf.Variable(tf.zeros([width]))
        self.w2 = tf.Variable(0.1 * g.normal([width, width]))
        self.b2 = tf.Variable(tf.zeros([width]))
        self.w3 = tf.Variable(0.1 * g.normal([width, 2]))

    def __call__(self, s):
        h = tf.tanh(s @ self.w1 + self.b1)
        h = tf.tanh(h @ self.w2 + self.b2)
        return h @ self.w3


def rk4(f, s, dt):
    k1 = f(s)
    k2 = f(s + dt / 2 * k1)
    k3 = f(s + dt / 2 * k2)
    k4 = f(s + dt * k3)
    return s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


# In[4]:


field = Field()
optimizer = tf.keras.optimizers.Adam(5e-3)


@tf.function
def fit_step(truth):
    with tf.GradientTape() as tape:
        state = truth[:, 0]
        loss = 0.0
        for i in range(HORIZON):
            state = rk4(field, state, DT)
            loss += tf.reduce_mean(tf.square(state - truth[:, i + 1]))
        loss /= HORIZON
    grads = tape.gradient(loss, field.trainable_variables)
    grads, _ = tf.clip_by_global_norm(grads, 1.0)
    optimizer.apply_gradients(zip(grads, field.trainable_variables))
    return loss


# In[5]:


curve = []
for step in range(24):
    picked = rng.choice(len(paths), BATCH, replace=False)
    curve.append(float(fit_step(tf.constant(paths[picked]))))
    if step % 6 == 5:
        print('step', step + 1, 'trajectory error', round(curve[-1], 4))


# In[6]:


print('first', round(curve[0], 4), 'last', round(curve[-1], 4))
