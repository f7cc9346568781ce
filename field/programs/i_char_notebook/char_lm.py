# %% [markdown]
# ## Tiny character LM: hand-written attention, Lion-style optimizer, gradient accumulation

# %%
import time

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(0)
CTX, DIM, HEADS, LAYERS, BATCH, ACC = 64, 128, 4, 3, 32, 2

# %%
rng = np.random.default_rng(0)
words = ["".join(rng.choice(list("abcdefghijklmnop"), rng.integers(2, 8))) for _ in range(300)]
text = " ".join(rng.choice(words, 40000))
chars = sorted(set(text))
ids = np.array([chars.index(c) for c in text], np.int32)
print(len(text), "characters,", len(chars), "different")


# %%
class SelfAttention(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.qkv = tf.keras.layers.Dense(3 * DIM, use_bias=False)
        self.mix = tf.keras.layers.Dense(DIM)

    def call(self, x):
        n, d = CTX, DIM // HEADS
        qkv = tf.transpose(tf.reshape(self.qkv(x), [-1, n, 3, HEADS, d]), [2, 0, 3, 1, 4])
        q, k, v = qkv[0], qkv[1], qkv[2]
        s = tf.matmul(q, k, transpose_b=True) / d ** 0.5
        s = tf.where(tf.linalg.band_part(tf.ones([n, n]), -1, 0) > 0, s, -1e9)
        y = tf.transpose(tf.matmul(tf.nn.softmax(s), v), [0, 2, 1, 3])
        return self.mix(tf.reshape(y, [-1, n, DIM]))


inp = tf.keras.Input((CTX,), dtype="int32")
h = tf.keras.layers.Embedding(len(chars), DIM)(inp)
for _ in range(LAYERS):
    h = h + SelfAttention()(tf.keras.layers.LayerNormalization()(h))
    f = tf.keras.layers.Dense(4 * DIM, activation="gelu")(tf.keras.layers.LayerNormalization()(h))
    h = h + tf.keras.layers.Dense(DIM)(f)
model = tf.keras.Model(inp, tf.keras.layers.Dense(len(chars))(h))
weights = model.trainable_variables
moments = [tf.Variable(tf.zeros_like(w), trainable=False) for w in weights]


# %%
@tf.function
def sign_update(x, y, lr):
    sums = [tf.zeros_like(w) for w in weights]
    total = 0.0
    for part in range(ACC):
        with tf.GradientTape() as tape:
            logits = model(x[part], training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y[part], logits)) / ACC
        sums = [s + tf.convert_to_tensor(g) for s, g in zip(sums, tape.gradient(loss, weights))]
        total += loss
    for w, m, g in zip(weights, moments, sums):
        w.assign_sub(lr * tf.sign(0.9 * m + 0.1 * g))
        m.assign(0.99 * m + 0.01 * g)
    return total


# %%
def draw():
    start = rng.integers(0, len(ids) - CTX - 1, (ACC, BATCH, 1))
    window = ids[start + np.arange(CTX + 1)]
    return tf.constant(window[..., :-1]), tf.constant(window[..., 1:])


losses = []
t0 = time.time()
for step in range(40):
    lr = tf.constant(3e-4 * min(1.0, (step + 1) / 10), tf.float32)
    loss = sign_update(*draw(), lr)
    losses.append(loss.numpy())
    print("step", step, "loss", round(float(losses[-1]), 3), "elapsed", round(time.time() - t0, 1))

# %%
context = ids[:CTX][None].copy()
out = []
for _ in range(20):
    p = tf.nn.softmax(model(context)[0, -1]).numpy().astype("float64")
    nxt = rng.choice(len(chars), p=p / p.sum())
    out.append(chars[nxt])
    context = np.concatenate([context[:, 1:], [[nxt]]], 1).astype(np.int32)
print("".join(out))
