"""Neural matrix factorisation on explicit ratings (TF1 API)."""

import argparse
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def make_ratings(n_users, n_items, n, seed=0):
    rng = np.random.RandomState(seed)
    u = rng.randint(0, n_users, n).astype(np.int32)
    i = rng.randint(0, n_items, n).astype(np.int32)
    pu = rng.randn(n_users, 4)
    qi = rng.randn(n_items, 4)
    r = np.clip(3.0 + (pu[u] * qi[i]).sum(1) * 0.6 + 0.2 * rng.randn(n), 1, 5)
    return u, i, r.astype(np.float32)


class RatingModel(object):
    def __init__(self, n_users, n_items, dim, lr):
        self.user = tf.placeholder(tf.int32, [None], name="user")
        self.item = tf.placeholder(tf.int32, [None], name="item")
        self.rating = tf.placeholder(tf.float32, [None], name="rating")
        self.P = tf.get_variable(
            "P", [n_users, dim], initializer=tf.random_normal_initializer(0, 0.05)
        )
        self.Q = tf.get_variable(
            "Q", [n_items, dim], initializer=tf.random_normal_initializer(0, 0.05)
        )
        p = tf.nn.embedding_lookup(self.P, self.user)
        q = tf.nn.embedding_lookup(self.Q, self.item)
        h = tf.concat([p, q, p * q], axis=1)
        for k, width in enumerate([256, 128, 64]):
            w = tf.get_variable("w%d" % k, [int(h.shape[1]), width])
            b = tf.get_variable("b%d" % k, [width], initializer=tf.zeros_initializer())
            h = tf.nn.relu(tf.matmul(h, w) + b)
        w = tf.get_variable("w_out", [64, 1])
        self.pred = tf.squeeze(tf.matmul(h, w), 1) + 3.0
        self.mse = tf.reduce_mean(tf.square(self.pred - self.rating))
        self.reg = tf.nn.l2_loss(p) + tf.nn.l2_loss(q)
        self.loss = self.mse + 1e-5 * self.reg
        self.train_op = tf.train.AdamOptimizer(lr).minimize(self.loss)


def rmse(model, low=1.0, high=5.0):
    """RMSE on the rating scale, predictions clipped to [low, high]."""
    pred = tf.clip_by_value(model.pred, low, high)
    return tf.sqrt(tf.reduce_mean(tf.square(pred - model.rating)))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--batch", type=int, default=2048)
    ap.add_argument("--dim", type=int, default=64)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()

    n_users, n_items = 4000, 2500
    u, i, r = make_ratings(n_users, n_items, 200000)
    tf.set_random_seed(1)
    model = RatingModel(n_users, n_items, args.dim, args.lr)

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(args.epochs):
            order = np.random.permutation(len(u))
            t0 = time.time()
            losses, errs, regs = [], [], []
            for s in range(0, len(order) - args.batch + 1, args.batch):
                idx = order[s : s + args.batch]
                feed = {model.user: u[idx], model.item: i[idx], model.rating: r[idx]}
                sess.run(model.train_op, feed_dict=feed)
                loss = sess.run(model.loss, feed_dict=feed)
                reg = sess.run(model.reg, feed_dict=feed)
                pred = sess.run(model.pred, feed_dict=feed)
                err = sess.run(rmse(model), feed_dict=feed)
                losses.append(loss)
                errs.append(err)
                regs.append(reg)
            print(
                "epoch %d  loss %.4f  rmse %.4f  reg %.1f  mean pred %.2f  (%.1fs)"
                % (
                    epoch,
                    np.mean(losses),
                    np.mean(errs),
                    np.mean(regs),
                    pred.mean(),
                    time.time() - t0,
                )
            )


if __name__ == "__main__":
    main()
