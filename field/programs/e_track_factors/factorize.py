"""Matrix factorisation with biases for listening counts."""
from collections import namedtuple

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

HParams = namedtuple("HParams", "listeners tracks dim batch steps lr reg seed")
hp = HParams(listeners=60000, tracks=90000, dim=64, batch=1024, steps=330, lr=0.5, reg=1e-6, seed=13)


def sample_events(rng, n):
    u = (hp.listeners * rng.random(n) ** 2).astype(np.int32)
    t = (hp.tracks * rng.random(n) ** 3).astype(np.int32)
    y = np.log1p((u % 7) * (t % 5) + rng.poisson(1.0, n)).astype(np.float32)
    return u, t, y


class Factors:
    def __init__(self, hp):
        self.u = tf.placeholder(tf.int32, [None])
        self.t = tf.placeholder(tf.int32, [None])
        self.y = tf.placeholder(tf.float32, [None])
        init = tf.random_normal_initializer(stddev=0.1, seed=hp.seed)
        self.P = tf.get_variable("listeners", [hp.listeners, hp.dim], initializer=init)
        self.Q = tf.get_variable("tracks", [hp.tracks, hp.dim], initializer=init)
        self.bias_u = tf.get_variable("bias_u", [hp.listeners], initializer=tf.zeros_initializer())
        self.bias_t = tf.get_variable("bias_t", [hp.tracks], initializer=tf.zeros_initializer())
        self.mu = tf.get_variable("mu", [], initializer=tf.zeros_initializer())

        p = tf.nn.embedding_lookup(self.P, self.u)
        q = tf.nn.embedding_lookup(self.Q, self.t)
        bias = tf.gather(self.bias_u, self.u) + tf.gather(self.bias_t, self.t)
        self.score = self.mu + bias + tf.reduce_sum(p * q, axis=1)
        self.mse = tf.reduce_mean(tf.square(self.y - self.score))
        decay = tf.nn.l2_loss(self.P) + tf.nn.l2_loss(self.Q)
        self.loss = self.mse + hp.reg * decay
        self.train_op = tf.train.GradientDescentOptimizer(hp.lr).minimize(self.loss)


if __name__ == "__main__":
    tf.set_random_seed(hp.seed)
    rng = np.random.default_rng(hp.seed)
    model = Factors(hp)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        window = []
        for k in range(1, hp.steps + 1):
            u, t, y = sample_events(rng, hp.batch)
            _, mse = sess.run([model.train_op, model.mse], {model.u: u, model.t: t, model.y: y})
            window.append(mse)
            if k % 66 == 0:
                print("%5d events  rmse %.4f" % (k * hp.batch, np.sqrt(np.mean(window))))
                window = []
