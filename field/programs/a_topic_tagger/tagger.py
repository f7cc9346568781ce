"""Multi-label topic tagger over bag-of-words features."""

import collections
import random

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

VOCAB = 1500
TAGS = 20
BATCH = 128
EPOCHS = 8

random.seed(11)
np.random.seed(11)


def fake_documents(n):
    docs, tags = [], []
    for _ in range(n):
        topic = random.randrange(TAGS)
        base = topic * (VOCAB // TAGS)
        words = [
            base + random.randrange(VOCAB // TAGS)
            if random.random() < 0.6
            else random.randrange(VOCAB)
            for _ in range(60)
        ]
        docs.append(words)
        tags.append({topic, random.randrange(TAGS)})
    return docs, tags


def to_vector(words):
    counts = collections.Counter(words)
    return [float(counts.get(w, 0)) for w in range(VOCAB)]


def to_target(tags):
    return [1.0 if t in tags else 0.0 for t in range(TAGS)]


def batches(vectors, targets):
    index = list(range(len(vectors)))
    random.shuffle(index)
    for s in range(0, len(index) - BATCH + 1, BATCH):
        part = index[s : s + BATCH]
        yield [vectors[j] for j in part], [targets[j] for j in part]


def build():
    x = tf.placeholder(tf.float32, [None, VOCAB], name="x")
    y = tf.placeholder(tf.float32, [None, TAGS], name="y")
    w1 = tf.get_variable("w1", [VOCAB, 256])
    b1 = tf.get_variable("b1", [256], initializer=tf.zeros_initializer())
    w2 = tf.get_variable("w2", [256, TAGS])
    b2 = tf.get_variable("b2", [TAGS], initializer=tf.zeros_initializer())
    hidden = tf.nn.relu(tf.matmul(tf.log(x + 1.0), w1) + b1)
    logits = tf.matmul(hidden, w2) + b2
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=y))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    hit = tf.reduce_mean(tf.reduce_sum(y * tf.one_hot(tf.argmax(logits, 1), TAGS), axis=1))
    return x, y, loss, train, hit


def main():
    docs, tags = fake_documents(6000)
    vectors = [to_vector(d) for d in docs]
    targets = [to_target(t) for t in tags]
    x, y, loss, train, hit = build()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(EPOCHS):
            total, hits, n = 0.0, 0.0, 0
            for bx, by in batches(vectors, targets):
                sess.run(train, feed_dict={x: bx, y: by})
                total += sess.run(loss, feed_dict={x: bx, y: by})
                hits += sess.run(hit, feed_dict={x: bx, y: by})
                n += 1
            print("epoch", epoch, "loss %.4f" % (total / n), "precision@1 %.3f" % (hits / n))


if __name__ == "__main__":
    main()
