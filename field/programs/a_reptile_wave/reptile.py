"""Reptile (first-order meta-learning) on waveforms; the inner loop is compiled."""
import numpy as np
import tensorflow as tf

INNER, META, WIDTH, ROWS = 4, 45, 900, 512


class Learner(tf.Module):
    def __init__(self):
        super().__init__()
        g = tf.random.Generator.from_seed(3)
        sizes = [64, WIDTH, WIDTH, 1]
        self.w = [tf.Variable(g.normal([a, b], stddev=(2 / a) ** 0.5)) for a, b in zip(sizes[:-1], sizes[1:])]
        self.b = [tf.Variable(tf.zeros([b])) for b in sizes[1:]]
        self.slow = [tf.Variable(v) for v in self.w + self.b]

    def __call__(self, x):
        for k, (w, b) in enumerate(zip(self.w, self.b)):
            x = tf.matmul(x, w) + b
            if k < 2:
                x = tf.nn.relu(x)
        return x

    @tf.function
    def inner_loop(self, xs, ys, lr, eps):
        fast = self.w + self.b
        for k in range(INNER):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(xs[k]) - ys[k]) ** 2)
            for v, g in zip(fast, tape.gradient(loss, fast)):
                v.assign_sub(lr * g)
        for v, s in zip(fast, self.slow):
            s.assign_add(eps * (v - s))
            v.assign(s)
        return loss


def task(rng):
    f, p = rng.uniform(0.5, 2.0), rng.uniform(0, np.pi)
    t = rng.uniform(-3, 3, (INNER, ROWS, 1))
    x = np.sin(t * np.arange(1, 65) / 8.0)
    return tf.constant(x, tf.float32), tf.constant(np.sin(f * t + p), tf.float32)


if __name__ == "__main__":
    rng = np.random.default_rng(3)
    learner = Learner()
    for it in range(META):
        eps = 0.5 * (1 - it / META)
        loss = learner.inner_loop(*task(rng), tf.constant(0.01), tf.constant(eps, tf.float32))
        if it % 9 == 0:
            print("meta step %d  last inner loss %.4f  eps %.2f" % (it, loss.numpy(), eps))
