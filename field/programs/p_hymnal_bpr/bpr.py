# -*- coding: utf-8 -*-
"""Bayesian personalised ranking on implicit feedback, graph mode."""
import argparse
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def parse_args():
    parser = argparse.ArgumentParser(description="Run BPR-MF.")
    parser.add_argument("--users", type=int, default=90000)
    parser.add_argument("--items", type=int, default=60000)
    parser.add_argument("--dim", type=int, default=48)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--reg", type=float, default=1e-4)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--iters", type=int, default=100)
    return parser.parse_args()


class Plays(object):
    def __init__(self, n_users, n_items, n_plays=400000, seed=11):
        rng = np.random.RandomState(seed)
        self.rng = rng
        self.n_items = n_items
        self.user = rng.randint(0, n_users, n_plays)
        popular = (rng.pareto(1.2, n_plays) * 60).astype(np.int64) % n_items
        self.item = (popular + 17 * (self.user % 40)) % n_items
        self.test = rng.choice(n_plays, 2000, replace=False)

    def triples(self, size):
        k = self.rng.randint(0, len(self.user), size)
        return self.user[k], self.item[k], self.rng.randint(0, self.n_items, size)


class BPR(object):
    def __init__(self, args):
        self.args = args
        self.u = tf.placeholder(tf.int32, [None], "u")
        self.i = tf.placeholder(tf.int32, [None], "i")
        self.j = tf.placeholder(tf.int32, [None], "j")
        with tf.variable_scope("factors"):
            self.P = tf.get_variable("P", [args.users, args.dim], initializer=tf.random_normal_initializer(0, 0.05))
            self.Q = tf.get_variable("Q", [args.items, args.dim], initializer=tf.random_normal_initializer(0, 0.05))
            self.b = tf.get_variable("b", [args.items], initializer=tf.zeros_initializer())
        pu = tf.nn.embedding_lookup(self.P, self.u)
        qi, qj = tf.nn.embedding_lookup(self.Q, self.i), tf.nn.embedding_lookup(self.Q, self.j)
        bi, bj = tf.nn.embedding_lookup(self.b, self.i), tf.nn.embedding_lookup(self.b, self.j)
        x = bi - bj + tf.reduce_sum(pu * (qi - qj), 1)
        self.hit = tf.reduce_mean(tf.cast(x > 0, tf.float32))
        reg = tf.nn.l2_loss(pu) + tf.nn.l2_loss(qi) + tf.nn.l2_loss(qj)
        self.loss = tf.reduce_sum(tf.nn.softplus(-x)) + args.reg * reg
        self.train = tf.train.AdamOptimizer(args.lr).minimize(self.loss)

    def feed(self, triple):
        return dict(zip((self.u, self.i, self.j), triple))


def main():
    args = parse_args()
    np.random.seed(2)
    tf.set_random_seed(2)
    data = Plays(args.users, args.items)
    model = BPR(args)
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(config=config) as sess:
        sess.run(tf.global_variables_initializer())
        held = (data.user[data.test], data.item[data.test], data.rng.randint(0, args.items, len(data.test)))
        for epoch in range(args.epochs):
            t1, total = time.time(), 0.0
            for it in range(args.iters):
                _, loss = sess.run([model.train, model.loss], model.feed(data.triples(args.batch)))
                total += loss / args.batch
            auc = sess.run(model.hit, model.feed(held))
            print("Epoch %d [%.1fs]: loss = %.4f  AUC = %.4f" % (epoch, time.time() - t1, total / args.iters, auc))


if __name__ == "__main__":
    main()
