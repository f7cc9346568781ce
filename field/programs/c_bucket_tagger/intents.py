"""Intent classifier with length buckets (hand-written compiled loop)."""
import collections

import numpy as np
import tensorflow as tf

BUCKETS = (16, 32, 64, 96)
VOCAB, CLASSES, BATCH = 3000, 12, 64


class Utterances:
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.by_bucket = collections.defaultdict(list)
        for _ in range(n):
            length = int(np.clip(rng.gamma(3.0, 10.0), 3, 96))
            ids = rng.integers(1, VOCAB, length)
            bucket = next(b for b in BUCKETS if length <= b)
            self.by_bucket[bucket].append((ids, int(ids[0]) % CLASSES))
        self.rng = rng

    def epoch(self):
        plan = [(b, i) for b, rows in self.by_bucket.items() for i in range(0, len(rows) - BATCH + 1, BATCH)]
        self.rng.shuffle(plan)
        for bucket, i in plan:
            rows = self.by_bucket[bucket][i:i + BATCH]
            x = np.zeros((BATCH, bucket), np.int32)
            for j, (ids, _) in enumerate(rows):
                x[j, :len(ids)] = ids
            yield tf.constant(x), tf.constant([c for _, c in rows])


class Classifier(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = tf.keras.layers.Embedding(VOCAB, 64)
        self.conv = tf.keras.layers.Conv1D(128, 3, padding="same", activation="relu")
        self.conv2 = tf.keras.layers.Conv1D(128, 3, padding="same", activation="relu")
        self.out = tf.keras.layers.Dense(CLASSES)

    def call(self, x):
        mask = tf.cast(x > 0, tf.float32)[..., None]
        h = self.conv2(self.conv(self.embed(x)))
        return self.out(tf.reduce_sum(h * mask, 1) / tf.reduce_sum(mask, 1))


model = Classifier()
opt = tf.keras.optimizers.Adam(2e-3)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


data = Utterances(9000, seed=4)
for epoch in range(3):
    losses = []
    for x, y in data.epoch():
        losses.append(float(step(x, y)))
    print("epoch", epoch, "loss %.3f" % np.mean(losses), "steps", len(losses))
