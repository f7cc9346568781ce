# -*- coding: utf-8 -*-
# Bayesian Personalized Ranking (Rendle et al. 2009), implicit feedback
import os
import time
import random
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()

USERS = int(os.environ.get("BPR_USERS", 60000))
ITEMS = int(os.environ.get("BPR_ITEMS", 90000))
FACTORS = 32
BATCH = 512
EPOCHS = 3
STEPS_PER_EPOCH = 250
REG = 1e-4
LR = 0.5


def load_ratings(seed=5):
    """user -> set of items; popular items are taken more often"""
    rng = np.random.RandomState(seed)
    ratings = {}
    groups = 20
    for u in range(USERS // 4):
        g = u % groups
        k = rng.randint(3, 9)
        items = (rng.zipf(1.6, size=k) * groups + g) % ITEMS
        ratings[u] = set(int(i) for i in items)
    return ratings


def leave_one_out(ratings):
    rnd = random.Random(3)
    return {u: rnd.choice(sorted(items)) for u, items in ratings.items()}


def sample_batch(ratings, held_out, users, rng):
    t = []
    while len(t) < BATCH:
        u = users[rng.randint(len(users))]
        cand = [i for i in ratings[u] if i != held_out[u]]
        if not cand:
            continue
        i = cand[rng.randint(len(cand))]
        j = rng.randint(ITEMS)
        while j in ratings[u]:
            j = rng.randint(ITEMS)
        t.append((u, i, j))
    return np.asarray(t, dtype=np.int32)


def build():
    u = tf1.placeholder(tf.int32, [None])
    i = tf1.placeholder(tf.int32, [None])
    j = tf1.placeholder(tf.int32, [None])
    init = tf1.random_normal_initializer(0, 0.1, seed=1)
    user_emb = tf1.get_variable("user_emb", [USERS, FACTORS], initializer=init)
    item_emb = tf1.get_variable("item_emb", [ITEMS, FACTORS], initializer=init)

    u_e = tf.nn.embedding_lookup(user_emb, u)
    i_e = tf.nn.embedding_lookup(item_emb, i)
    j_e = tf.nn.embedding_lookup(item_emb, j)

    x = tf.reduce_sum(u_e * (i_e - j_e), axis=1)
    auc = tf.reduce_mean(tf.cast(x > 0, tf.float32))
    rank_loss = -tf.reduce_mean(tf.math.log_sigmoid(x))
    l2 = tf.nn.l2_loss(user_emb) + tf.nn.l2_loss(item_emb)
    loss = rank_loss * 100 + REG * l2
    train = tf1.train.GradientDescentOptimizer(LR).minimize(loss)
    return (u, i, j), auc, rank_loss, train


def main():
    ratings = load_ratings()
    held_out = leave_one_out(ratings)
    users = list(ratings)
    rng = np.random.RandomState(0)
    print("users %d with ratings %d items %d" % (USERS, len(users), ITEMS))

    (u, i, j), auc, rank_loss, train = build()
    steps = 0
    with tf1.Session() as sess:
        sess.run(tf1.global_variables_initializer())
        for epoch in range(1, EPOCHS + 1):
            start, total = time.time(), 0.0
            for _ in range(STEPS_PER_EPOCH):
                uij = sample_batch(ratings, held_out, users, rng)
                _, l = sess.run([train, rank_loss], feed_dict={u: uij[:, 0], i: uij[:, 1], j: uij[:, 2]})
                total += l
                steps += 1
            # AUC on the item left out of each user's history against random ones
            test_u = rng.choice(users, 4000)
            pos = np.array([held_out[a] for a in test_u])
            neg = rng.randint(ITEMS, size=len(test_u))
            a = sess.run(auc, feed_dict={u: test_u, i: pos, j: neg})
            print("epoch %d bpr_loss %.4f test_auc %.4f (%.1fs)" % (
                epoch, total / STEPS_PER_EPOCH, a, time.time() - start))
    print("steps: %d" % steps)


if __name__ == "__main__":
    main()
