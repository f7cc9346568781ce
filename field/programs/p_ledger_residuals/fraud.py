# coding: utf-8
"""Autoencoder on ledger entries (TF1 graph); entries with a large residual are reported."""
import collections

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

Config = collections.namedtuple("Config", "features hidden code batch epochs lr rows seed")
CFG = Config(features=600, hidden=384, code=48, batch=2048, epochs=6, lr=1e-3, rows=40960, seed=14)


def ledger(cfg):
    rng = np.random.RandomState(cfg.seed)
    basis = rng.randn(24, cfg.features).astype(np.float32)
    x = rng.randn(cfg.rows, 24).astype(np.float32).dot(basis) / 5
    x += rng.randn(*x.shape).astype(np.float32) * 0.2
    odd = rng.choice(cfg.rows, 200, replace=False)
    x[odd] += rng.randn(200, cfg.features).astype(np.float32) * 1.5
    return np.tanh(x), odd


def layer(x, units, name, act=tf.nn.relu):
    with tf.variable_scope(name):
        w = tf.get_variable("w", [x.get_shape().as_list()[1], units])
        b = tf.get_variable("b", [units], initializer=tf.zeros_initializer())
        y = tf.nn.xw_plus_b(x, w, b)
        return act(y) if act else y


class AutoEncoder(object):
    def __init__(self, cfg):
        self.x = tf.placeholder(tf.float32, [None, cfg.features])
        h1 = layer(self.x, cfg.hidden, "enc1")
        self.code = layer(h1, cfg.code, "enc2", tf.nn.tanh)
        h2 = layer(self.code, cfg.hidden, "dec1")
        self.xhat = layer(h2, cfg.features, "dec2", tf.nn.tanh)
        self.residual = tf.reduce_mean(tf.square(self.xhat - self.x), 1)
        self.loss = tf.reduce_mean(self.residual)
        self.worst = tf.reduce_max(self.residual)
        self.sparsity = tf.reduce_mean(tf.cast(tf.abs(self.code) < 0.05, tf.float32))
        self.train_op = tf.train.RMSPropOptimizer(cfg.lr).minimize(self.loss)


def main(cfg):
    x, odd = ledger(cfg)
    rng = np.random.RandomState(0)
    tf.set_random_seed(cfg.seed)
    ae = AutoEncoder(cfg)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(cfg.epochs):
            order = rng.permutation(cfg.rows)
            losses, worst, sparse = [], [], []
            for i in range(0, cfg.rows, cfg.batch):
                feed = {ae.x: x[order[i:i + cfg.batch]]}
                losses.append(sess.run(ae.loss, feed))
                worst.append(sess.run(ae.worst, feed))
                sparse.append(sess.run(ae.sparsity, feed))
                sess.run(ae.train_op, feed)
            print("epoch %d  loss %.5f  worst %.4f  near zero %.3f"
                  % (epoch + 1, np.mean(losses), np.max(worst), np.mean(sparse)))
        res = np.concatenate([sess.run(ae.residual, {ae.x: x[i:i + cfg.batch]}) for i in range(0, cfg.rows, cfg.batch)])
    top = np.argsort(-res)[:200]
    print("found %d of %d unusual entries" % (len(np.intersect1d(top, odd)), len(odd)))


if __name__ == "__main__":
    main(CFG)
