#!/usr/bin/env python
# Autoencoder for film ratings (one row per viewer, zeros are missing).
import random
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

NUM_USERS = 1536
NUM_FILMS = 1600
HIDDEN = 96
EPOCHS = 11
BATCH = 64
LAMBDA = 0.001

random.seed(1)
np.random.seed(1)
tf.set_random_seed(1)


def load_ratings():
    taste = np.random.randn(NUM_USERS, 6)
    film = np.random.randn(6, NUM_FILMS)
    score = np.clip(np.round(3 + 0.6 * taste.dot(film)), 1, 5)
    seen = np.random.rand(NUM_USERS, NUM_FILMS) < 0.06
    rows = []
    for u in range(NUM_USERS):
        rows.append((score[u] * seen[u]).tolist())
    return rows


ratings = load_ratings()
split = int(0.9 * NUM_USERS)
train_rows, test_rows = ratings[:split], ratings[split:]

R = tf.placeholder(tf.float32, [None, NUM_FILMS])
M = tf.placeholder(tf.float32, [None, NUM_FILMS])

V = tf.Variable(tf.random_normal([NUM_FILMS, HIDDEN], stddev=0.03))
W = tf.Variable(tf.random_normal([HIDDEN, NUM_FILMS], stddev=0.03))
mu = tf.Variable(tf.zeros([HIDDEN]))
b = tf.Variable(tf.fill([NUM_FILMS], 3.0))

code = tf.nn.sigmoid(tf.matmul(R, V) + mu)
decoded = tf.matmul(code, W) + b
errors = M * tf.square(R - decoded)
rmse = tf.sqrt(tf.reduce_sum(errors) / tf.reduce_sum(M))
penalty = LAMBDA / 2 * (tf.reduce_sum(tf.square(V)) + tf.reduce_sum(tf.square(W)))
cost = tf.reduce_sum(errors) / BATCH + penalty
code_use = tf.reduce_mean(tf.cast(code > 0.5, tf.float32))
train = tf.train.AdamOptimizer(2e-3).minimize(cost)


def observed(rows):
    return [[1.0 if r > 0 else 0.0 for r in row] for row in rows]


sess = tf.Session()
sess.run(tf.global_variables_initializer())

for epoch in range(EPOCHS):
    t0 = time.time()
    random.shuffle(train_rows)
    seen_cost, seen_rmse, seen_use = [], [], []
    for start in range(0, len(train_rows) - BATCH + 1, BATCH):
        rows = train_rows[start:start + BATCH]
        feed = {R: rows, M: observed(rows)}
        sess.run(train, feed_dict=feed)
        seen_cost.append(sess.run(cost, feed_dict=feed))
        seen_rmse.append(sess.run(rmse, feed_dict=feed))
        seen_use.append(sess.run(code_use, feed_dict=feed))
    test = sess.run(rmse, feed_dict={R: test_rows, M: observed(test_rows)})
    print("epoch %d cost %.2f rmse %.4f units on %.2f | test rmse %.4f (%.1fs)" % (
        epoch + 1, np.mean(seen_cost), np.mean(seen_rmse), np.mean(seen_use), test, time.time() - t0))

sess.close()
