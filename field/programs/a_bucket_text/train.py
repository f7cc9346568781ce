"""Sentence classifier, sentences padded within three length buckets."""
import numpy as np
import tensorflow as tf

VOCAB, CLASSES = 5000, 4


def sentences(n, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        label = int(rng.integers(0, CLASSES))
        t = int(rng.integers(8, 96))
        ids = rng.integers(1, VOCAB, t)
        ids[:4] = label * 10 + rng.integers(1, 10, 4)
        yield ids.astype("int32"), np.int32(label)


def pipeline(n, batch):
    ids, labels = zip(*sentences(n))
    ragged = tf.ragged.constant([list(i) for i in ids], dtype=tf.int32)
    ds = tf.data.Dataset.from_tensor_slices((ragged, tf.constant(labels)))
    ds = ds.map(lambda r, l: (tf.convert_to_tensor(r), l))
    ds = ds.bucket_by_sequence_length(lambda x, _: tf.shape(x)[0], [32, 64], [batch] * 3,
                                      pad_to_bucket_boundary=False, drop_remainder=True)
    fixed = [32, 64, 96]
    # the last bucket has no upper edge of its own
    def widen(x, y):
        t = tf.shape(x)[1]
        edge = tf.where(t <= 32, 32, tf.where(t <= 64, 64, 96))
        return tf.pad(x, [[0, 0], [0, edge - t]]), y
    return ds.map(widen).cache().shuffle(64), fixed


class Classifier(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.emb = tf.keras.layers.Embedding(VOCAB, 96)
        self.conv = [tf.keras.layers.Conv1D(192, 5, padding="same", activation="relu") for _ in range(3)]
        self.out = tf.keras.layers.Dense(CLASSES)

    def call(self, x):
        h = self.emb(x)
        for c in self.conv:
            h = c(h)
        return self.out(tf.reduce_max(h, axis=1))


model = Classifier()
model(tf.zeros((1, 8), tf.int32))
opt = tf.keras.optimizers.SGD(0.05, momentum=0.9)
opt.build(model.trainable_variables)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=model(x)))
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    return loss


if __name__ == "__main__":
    tf.random.set_seed(0)
    ds, edges = pipeline(1600, 64)
    print("bucket edges", edges)
    for epoch in range(3):
        losses = []
        for x, y in ds:
            losses.append(float(step(x, y)))
        print("epoch", epoch, "batches", len(losses), "loss %.4f" % np.mean(losses))
