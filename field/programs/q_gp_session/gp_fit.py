#!/usr/bin/env python
# Marginal likelihood of a Gaussian process, hyper-parameters by gradient descent (TF1 graph and session)
from __future__ import print_function
import sys
import time
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()

N = int(sys.argv[1]) if len(sys.argv) > 1 else 700
ITER = int(sys.argv[2]) if len(sys.argv) > 2 else 60
JITTER = 1e-12


def tide_gauge(n, seed=2):
    rs = np.random.RandomState(seed)
    t = np.sort(rs.uniform(0, 10, n))[:, None]
    y = np.sin(2 * t) + 0.5 * np.cos(5.1 * t) + 1e-4 * rs.randn(n, 1)
    return t, y


def rbf(a, b, ls, var):
    d2 = tf.square(a - tf.transpose(b))
    return var * tf.exp(-0.5 * d2 / tf.square(ls))


class GP(object):
    def __init__(self, x, y):
        dt = tf.float64
        self.log_ls = tf.get_variable('log_ls', initializer=np.log(1.0), dtype=dt)
        self.log_var = tf.get_variable('log_var', initializer=np.log(2.0), dtype=dt)
        self.log_noise = tf.get_variable('log_noise', initializer=np.log(1e-4), dtype=dt)
        self.x, self.y = tf.constant(x, dt), tf.constant(y, dt)
        self.x_new = tf.placeholder(dt, [None, 1])
        n = len(x)
        k = rbf(self.x, self.x, tf.exp(self.log_ls), tf.exp(self.log_var))
        k += tf.eye(n, dtype=dt) * (tf.exp(2 * self.log_noise) + JITTER)
        chol = tf.linalg.cholesky(k)
        alpha = tf.linalg.cholesky_solve(chol, self.y)
        self.nll = (0.5 * tf.reduce_sum(self.y * alpha) + tf.reduce_sum(tf.log(tf.linalg.diag_part(chol)))
                    + 0.5 * n * np.log(2 * np.pi)) / n
        self.train = tf.train.AdamOptimizer(0.05).minimize(self.nll)
        self.mean = tf.matmul(rbf(self.x_new, self.x, tf.exp(self.log_ls), tf.exp(self.log_var)), alpha)


def main():
    x, y = tide_gauge(N)
    gp = GP(x, y)
    grid = np.linspace(0.1, 9.9, 200)[:, None]
    truth = np.sin(2 * grid) + 0.5 * np.cos(5.1 * grid)
    trace, t0 = [], time.time()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for it in range(1, ITER + 1):
            _, nll, ls, noise = sess.run([gp.train, gp.nll, gp.log_ls, gp.log_noise])
            trace.append((nll, ls, noise))
            if it % 20 == 0:
                m = sess.run(gp.mean, {gp.x_new: grid})
                print('%4d nll %.5f length %.4f noise %.5f rmse %.6f (%.1fs)' % (
                    it, nll, np.exp(ls), np.exp(noise), np.sqrt(np.mean((m - truth) ** 2)), time.time() - t0))
    np.savetxt('trace.txt', np.array(trace))
    print('iterations', len(trace))


if __name__ == '__main__':
    main()
