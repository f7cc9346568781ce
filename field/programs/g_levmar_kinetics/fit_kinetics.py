# %% [markdown]
# Fit a small surrogate network to reaction curves with Levenberg-Marquardt steps.

# %%
import numpy as np
import tensorflow as tf

tf.random.set_seed(8)
rng = np.random.default_rng(8)

# %%
t = np.linspace(0, 4, 60, dtype=np.float32)
k1 = rng.uniform(0.3, 2.0, 12).astype(np.float32)
curves = np.exp(-k1[:, None] * t) * np.cos(1.5 * t) + 0.01 * rng.standard_normal((12, 60)).astype(np.float32)
X = tf.constant(np.stack([np.repeat(k1, 60), np.tile(t, 12)], 1))
Y = tf.constant(curves.reshape(-1, 1).astype(np.float32))
print("points", X.shape, "targets", Y.shape)

# %%
HIDDEN = 12
W1 = tf.Variable(tf.random.normal([2, HIDDEN], stddev=0.7))
B1 = tf.Variable(tf.zeros([HIDDEN]))
W2 = tf.Variable(tf.random.normal([HIDDEN, HIDDEN], stddev=0.4))
B2 = tf.Variable(tf.zeros([HIDDEN]))
W3 = tf.Variable(tf.random.normal([HIDDEN, 1], stddev=0.4))
params = [W1, B1, W2, B2, W3]
sizes = [int(np.prod(p.shape)) for p in params]


def predict(x):
    h = tf.tanh(x @ W1 + B1)
    h = tf.tanh(h @ W2 + B2)
    return h @ W3


# %%
def lm_step(x, y, damping):
    """One damped Gauss-Newton step on the residuals of a mini batch."""
    with tf.GradientTape() as tape:
        residual = tf.reshape(predict(x) - y, [-1])
    blocks = tape.jacobian(residual, params)
    J = tf.concat([tf.reshape(b, [tf.shape(residual)[0], -1]) for b in blocks], 1)
    A = tf.matmul(J, J, transpose_a=True)
    A += damping * tf.linalg.diag(tf.linalg.diag_part(A) + 1e-4)
    g = tf.linalg.matvec(J, residual, transpose_a=True)
    delta = tf.squeeze(tf.linalg.solve(A, g[:, None]), 1)
    for p, d in zip(params, tf.split(delta, sizes)):
        p.assign_sub(tf.reshape(d, p.shape))
    return tf.reduce_mean(tf.square(residual))


# %%
damping = tf.Variable(0.1, trainable=False)
last = np.inf
history = []
for it in range(60):
    pick = rng.permutation(720)[:360]
    loss = float(lm_step(tf.gather(X, pick), tf.gather(Y, pick), damping))
    damping.assign(tf.clip_by_value(damping * (0.8 if loss < last else 1.5), 1e-3, 10.0))
    last = loss
    history.append(loss)
    if it % 10 == 0:
        print(f"it {it:3d}  mse {loss:.5f}  damping {damping.numpy():.4f}")

# %%
print("full data mse", float(tf.reduce_mean(tf.square(predict(X) - Y))), "best batch", min(history))
