"""minimal decoder-only transformer on characters; prints samples while it learns"""
import math
import time
import numpy as np
import tensorflow as tf

BLOCK, DIM, HEADS, LAYERS, BATCH = 96, 64, 4, 3, 16
MAX_STEPS, EVAL_EVERY = 120, 60
SAMPLE_LEN = 48

tf.keras.utils.set_random_seed(1337)

# --- data: a toy grammar
names = ["anna", "boris", "carla", "dmitri", "elena"]
verbs = ["sees", "likes", "calls", "helps"]
text = ""
while len(text) < 60000:
    text += "%s %s %s.\n" % (np.random.choice(names), np.random.choice(verbs), np.random.choice(names))
vocab = sorted(set(text))
stoi = {c: i for i, c in enumerate(vocab)}
data = np.array([stoi[c] for c in text], dtype=np.int32)
n_train = int(0.9 * len(data))


def get_batch(split):
    src = data[:n_train] if split == "train" else data[n_train:]
    ix = np.random.randint(len(src) - BLOCK - 1, size=BATCH)
    x = np.stack([src[i:i + BLOCK] for i in ix])
    y = np.stack([src[i + 1:i + BLOCK + 1] for i in ix])
    return tf.constant(x), tf.constant(y)


class Block(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.ln1 = tf.keras.layers.LayerNormalization()
        self.ln2 = tf.keras.layers.LayerNormalization()
        self.qkv = tf.keras.layers.Dense(3 * DIM, use_bias=False)
        self.proj = tf.keras.layers.Dense(DIM)
        self.up = tf.keras.layers.Dense(4 * DIM, activation="gelu")
        self.down = tf.keras.layers.Dense(DIM)

    def attend(self, x):
        B, T = tf.shape(x)[0], tf.shape(x)[1]
        q, k, v = tf.split(tf.reshape(self.qkv(x), (B, T, HEADS, 3 * DIM // HEADS)), 3, axis=-1)
        w = tf.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(DIM // HEADS)
        mask = tf.linalg.band_part(tf.ones((T, T)), -1, 0)
        w = tf.nn.softmax(w - 1e9 * (1.0 - mask))
        return self.proj(tf.reshape(tf.einsum("bhqk,bkhd->bqhd", w, v), (B, T, DIM)))

    def call(self, x):
        x = x + self.attend(self.ln1(x))
        return x + self.down(self.up(self.ln2(x)))


class GPT(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.tok = tf.keras.layers.Embedding(len(vocab), DIM)
        self.pos = tf.keras.layers.Embedding(BLOCK, DIM)
        self.blocks = [Block() for _ in range(LAYERS)]
        self.ln = tf.keras.layers.LayerNormalization()
        self.head = tf.keras.layers.Dense(len(vocab))

    def call(self, idx):
        x = self.tok(idx) + self.pos(tf.range(tf.shape(idx)[1]))
        for b in self.blocks:
            x = b(x)
        return self.head(self.ln(x))


model = GPT()
opt = tf.keras.optimizers.AdamW(3e-3)
xent = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = xent(y, model(x))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


@tf.function
def eval_loss(x, y):
    return xent(y, model(x))


@tf.function
def next_logits(idx):
    return model(idx)[:, -1]


def generate(prompt, n):
    idx = tf.constant([[stoi[c] for c in prompt]], tf.int32)
    for _ in range(n):
        nxt = tf.random.categorical(next_logits(idx[:, -BLOCK:]), 1, dtype=tf.int32)
        idx = tf.concat([idx, nxt], axis=1)
    return "".join(vocab[i] for i in idx[0].numpy())


t0 = time.time()
for step in range(1, MAX_STEPS + 1):
    loss = train_step(*get_batch("train"))
    if step % EVAL_EVERY == 0:
        val = np.mean([eval_loss(*get_batch("val")) for _ in range(5)])
        print("step %d: train loss %.4f, val loss %.4f, %.1fs" % (step, loss, val, time.time() - t0))
        print("    " + generate("anna ", SAMPLE_LEN).replace("\n", "|"))
print("done, %d steps" % int(opt.iterations))
