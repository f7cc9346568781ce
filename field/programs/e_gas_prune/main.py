"""Train a small classifier for gas sensor readings and prune it while it trains."""
import argparse

import numpy as np
import tensorflow.compat.v1 as tf

from slimnet import Classifier, MagnitudePruner

tf.disable_v2_behavior()


def sensor_data(n, n_in, n_classes, seed):
    r = np.random.RandomState(seed)
    proto = r.randn(n_classes, n_in)
    y = r.randint(0, n_classes, n)
    x = proto[y] + 3.5 * r.randn(n, n_in) * (1 + 0.2 * r.rand(n, 1))
    return x.astype(np.float32), y.astype(np.int64)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=110)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--features", type=int, default=64)
    p.add_argument("--refresh", type=int, default=30)
    p.add_argument("--sparsity", type=float, default=0.8)
    a = p.parse_args()

    tf.set_random_seed(11)
    x, y = sensor_data(12000, a.features, 6, seed=11)
    xt, yt = x[10000:], y[10000:]
    x, y = x[:10000], y[:10000]

    net = Classifier(a.features, 6)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        pruner = MagnitudePruner(sess, net.kernels, final=a.sparsity)
        r = np.random.RandomState(3)
        for step in range(a.steps):
            idx = r.randint(0, len(x), a.batch)
            _, loss = sess.run([net.train_op, net.loss], {net.x: x[idx], net.y: y[idx]})
            if step % a.refresh == 0:
                pruner.refresh(step)
            pruner.apply()
            if (step + 1) % 22 == 0:
                acc = sess.run(net.accuracy, {net.x: xt, net.y: yt})
                print("step %4d  loss %.4f  held-out %.3f  zeros %.1f%%" % (
                    step + 1, loss, acc, 100 * pruner.sparsity()))


if __name__ == "__main__":
    main()
