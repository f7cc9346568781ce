# %% [markdown]
# # RealNVP on a ring of Gaussians
# Stages with falling learning rate and rising clip norm.

# %%
import math

import numpy as np
import tensorflow as tf

tf.random.set_seed(5)
rng = np.random.default_rng(5)

K, N = 8, 20000
angle = rng.integers(0, K, N) * 2 * math.pi / K
points = np.stack([2 * np.cos(angle), 2 * np.sin(angle)], 1) + 0.2 * rng.normal(size=(N, 2))
points = points.astype(np.float32)


# %%
class Coupling(tf.Module):
    def __init__(self, mask, width=96):
        super().__init__()
        self.mask = tf.constant(mask, tf.float32)
        self.net = tf.keras.Sequential([
            tf.keras.Input((2,)),
            tf.keras.layers.Dense(width, "relu"),
            tf.keras.layers.Dense(width, "relu"),
            tf.keras.layers.Dense(4, kernel_initializer="zeros"),
        ])

    def inverse(self, x):
        kept = x * self.mask
        s, t = tf.split(self.net(kept), 2, axis=1)
        s = tf.tanh(s) * (1 - self.mask)
        t = t * (1 - self.mask)
        return kept + (1 - self.mask) * (x - t) * tf.exp(-s), -tf.reduce_sum(s, 1)


class Flow(tf.Module):
    def __init__(self, layers):
        super().__init__()
        self.blocks = [Coupling([i % 2, 1 - i % 2]) for i in range(layers)]

    @property
    def weights(self):
        return [w for b in self.blocks for w in b.net.trainable_variables]

    def log_prob(self, x):
        total = 0.0
        for block in reversed(self.blocks):
            x, ld = block.inverse(x)
            total += ld
        return total - 0.5 * tf.reduce_sum(x * x, 1) - math.log(2 * math.pi)


# %%
def make_update(flow, optimizer, clip):
    """One maximum-likelihood update with the clip norm of the stage."""

    @tf.function
    def update(x):
        with tf.GradientTape() as tape:
            nll = -tf.reduce_mean(flow.log_prob(x))
        grads = tape.gradient(nll, flow.weights)
        grads, norm = tf.clip_by_global_norm(grads, clip)
        optimizer.apply_gradients(zip(grads, flow.weights))
        return nll, norm

    return update


# %%
flow = Flow(8)
optimizer = tf.keras.optimizers.Adam(1e-3)
optimizer.build(flow.weights)
train = tf.data.Dataset.from_tensor_slices(points).shuffle(N, seed=2).repeat().batch(512).prefetch(2)
stream = iter(train)

history = []
for epoch in range(12):
    optimizer.learning_rate = 1e-3 * 0.9 ** epoch
    update = make_update(flow, optimizer, clip=5.0 + epoch)
    nlls = []
    for _ in range(25):
        nll, norm = update(next(stream))
        nlls.append(float(nll))
    history.append(np.mean(nlls))
    print("epoch %2d  nll %.4f  grad norm %.2f" % (epoch, history[-1], norm))

# %%
print("best nll %.4f" % min(history))
