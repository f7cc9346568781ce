"""Skip-gram with NCE loss, graph mode."""
import collections
import random

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

VOCAB = 16000
DIM = 64
BATCH = 128
WINDOW = 2
NEG = 32
NUM_STEPS = 180

random.seed(5)
np.random.seed(5)
corpus = (np.random.zipf(1.4, 60000) % VOCAB).astype(np.int32)
cursor = 0


def next_batch():
    global cursor
    ctx = np.empty(BATCH, np.int32)
    lab = np.empty((BATCH, 1), np.int32)
    for i in range(BATCH):
        if cursor + WINDOW + 1 >= len(corpus):
            cursor = WINDOW
        cursor = max(cursor, WINDOW)
        ctx[i] = corpus[cursor]
        lab[i, 0] = corpus[cursor + random.choice([-2, -1, 1, 2])]
        cursor += 1
    return ctx, lab


graph = tf.Graph()
with graph.as_default():
    inputs = tf.placeholder(tf.int32, [BATCH])
    labels = tf.placeholder(tf.int32, [BATCH, 1])
    embeddings = tf.get_variable("emb", [VOCAB, DIM], initializer=tf.random_uniform_initializer(-1, 1))
    nce_w = tf.get_variable("nce_w", [VOCAB, DIM], initializer=tf.truncated_normal_initializer(stddev=0.1))
    nce_b = tf.get_variable("nce_b", [VOCAB], initializer=tf.zeros_initializer())
    embed = tf.nn.embedding_lookup(embeddings, inputs)
    loss = tf.reduce_mean(tf.nn.nce_loss(nce_w, nce_b, labels, embed, NEG, VOCAB))
    train_op = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    normed = embeddings / tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keepdims=True))
    init = tf.global_variables_initializer()

Snapshot = collections.namedtuple("Snapshot", "step loss vectors")

with tf.Session(graph=graph) as sess:
    sess.run(init)
    snapshots = []
    running = 0.0
    for step in range(1, NUM_STEPS + 1):
        ctx, lab = next_batch()
        _, l, vectors = sess.run([train_op, loss, normed], {inputs: ctx, labels: lab})
        running += l
        snapshots.append(Snapshot(step, l, vectors))
        if step % 60 == 0:
            print("step", step, "loss", running / 60)
            running = 0.0

    final = snapshots[-1].vectors
    for w in (1, 2, 3):
        near = np.argsort(-final @ final[w])[1:6]
        print("nearest to", w, ":", near)
