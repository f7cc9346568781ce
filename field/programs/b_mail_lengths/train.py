"""Spam filter over mails of very different length, bucketed."""
import numpy as np
import tensorflow as tf

VOCAB = 5000
BOUNDS = [64, 128]
SIZES = [64, 32, 16]


def mails(n, seed=10):
    rng = np.random.default_rng(seed)
    lengths = rng.choice([40, 100, 250], size=n, p=[0.5, 0.3, 0.2]) + rng.integers(-20, 20, n)
    texts = [rng.integers(1, VOCAB, k) for k in lengths]
    spam = [int(t[:10].mean() > VOCAB / 2) for t in texts]
    return texts, spam


texts, spam = mails(1600)
ragged = tf.ragged.constant(texts, dtype=tf.int32)
ds = tf.data.Dataset.from_tensor_slices((ragged, spam))
ds = ds.map(lambda t, s: (t, tf.cast(s, tf.float32)))
ds = ds.shuffle(1600, seed=1).bucket_by_sequence_length(
    lambda t, s: tf.shape(t)[0],
    bucket_boundaries=[BOUNDS[0] + 1, BOUNDS[1] + 1, 281],
    bucket_batch_sizes=SIZES + [1],
    pad_to_bucket_boundary=True,
    drop_remainder=True,
).cache().prefetch(2)

emb = tf.Variable(tf.random.normal((VOCAB, 128)) * 0.05)
convs = [tf.keras.layers.Conv1D(128, 5, activation="relu") for _ in range(2)]
head = tf.keras.layers.Dense(1)
opt = tf.keras.optimizers.SGD(0.05)


@tf.function
def step(tokens, labels):
    with tf.GradientTape() as tape:
        h = tf.nn.embedding_lookup(emb, tokens)
        for c in convs:
            h = c(h)
        logits = head(tf.reduce_max(h, axis=1))[:, 0]
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))
    variables = [emb] + [v.value for layer in convs + [head] for v in layer.trainable_variables]
    for v, g in zip(variables, tape.gradient(loss, variables)):
        if isinstance(g, tf.IndexedSlices):
            v.scatter_sub(tf.IndexedSlices(g.values * 0.05, g.indices))
        else:
            v.assign_sub(0.05 * g)
    return loss


for c in convs:
    c.build((None, None, 128))
head.build((None, 128))
count = 0
for epoch in range(4):
    total, n = 0.0, 0
    for tokens, labels in ds:
        total += step(tokens, labels)
        n += 1
    count += n
    print("epoch", epoch, "loss", float(total) / n, "traces", step.experimental_get_tracing_count())
print(count, "updates")
