"""Next hour's load of a transformer station. Session style, hand-written LSTM."""
import os
import sys
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(12)

flags = dict(hours=36, cells=224, batch=96, steps=75, report=15, keep=25, rate=2e-3)
for argument in sys.argv[1:]:
    key, value = argument.split("=")
    flags[key] = type(flags[key])(value)


class Loads:
    def __init__(self, days, seed=12):
        rng = np.random.RandomState(seed)
        t = np.arange(days * 24)
        week = 0.3 * ((t // 24) % 7 >= 5)
        base = 1 + 0.5 * np.sin(2 * np.pi * t / 24) + 0.2 * np.sin(4 * np.pi * t / 24) - week
        heat = np.cumsum(rng.randn(len(t))) * 0.02
        load = base + 0.3 * np.tanh(heat) + 0.05 * rng.randn(len(t))
        self.table = np.stack([load, np.sin(2 * np.pi * t / 24), np.cos(2 * np.pi * t / 24), heat], 1).astype(np.float32)
        self.rng = rng

    def batch(self, count, hours):
        at = self.rng.randint(0, len(self.table) - hours - 1, count)
        rows = at[:, None] + np.arange(hours + 1)
        return self.table[rows[:, :-1]], self.table[rows[:, -1], 0]


class Graph:
    def __init__(self, f):
        self.x = tf.placeholder(tf.float32, [None, f["hours"], 4], "history")
        self.y = tf.placeholder(tf.float32, [None], "load")
        h = self.layer(self.x, f["cells"], "lower")
        h = self.layer(h, f["cells"], "upper")
        w = tf.get_variable("w", [f["cells"], 1])
        self.guess = tf.squeeze(tf.matmul(h[:, -1], w), 1)
        self.loss = tf.reduce_mean(tf.square(self.guess - self.y))
        optimizer = tf.train.AdamOptimizer(f["rate"])
        pairs = optimizer.compute_gradients(self.loss)
        clipped, self.norm = tf.clip_by_global_norm([g for g, _ in pairs], 1.0)
        self.step = tf.train.get_or_create_global_step()
        self.train = optimizer.apply_gradients(zip(clipped, [v for _, v in pairs]), self.step)
        self.error = tf.reduce_mean(tf.abs(self.guess - self.y))
        self.saver = tf.train.Saver(max_to_keep=2)

    def layer(self, x, cells, name):
        with tf.variable_scope(name):
            kernel = tf.get_variable("kernel", [int(x.shape[-1]) + cells, 4 * cells])
            bias = tf.get_variable("bias", [4 * cells], initializer=tf.zeros_initializer())

        def tick(state, now):
            h, c = state
            i, j, f, o = tf.split(tf.matmul(tf.concat([now, h], 1), kernel) + bias, 4, 1)
            c = tf.sigmoid(f + 1) * c + tf.sigmoid(i) * tf.tanh(j)
            return tf.sigmoid(o) * tf.tanh(c), c

        empty = tf.zeros([tf.shape(x)[0], cells])
        h, _ = tf.scan(tick, tf.transpose(x, [1, 0, 2]), (empty, empty))
        return tf.transpose(h, [1, 0, 2])


def main(f):
    loads, graph = Loads(400), Graph(f)
    test = loads.batch(128, f["hours"])
    folder = tempfile.mkdtemp(prefix="meter")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number in range(1, f["steps"] + 1):
            x, y = loads.batch(f["batch"], f["hours"])
            _, loss, norm = session.run([graph.train, graph.loss, graph.norm], feed_dict={graph.x: x, graph.y: y})
            print(f"\r{number} loss {loss:.5f} norm {norm:.3f}", end="")
            if number % f["report"] == 0:
                error = session.run(graph.error, feed_dict={graph.x: test[0], graph.y: test[1]})
                print(f"\nstep {number} held-out error {error:.4f}")
            if number % f["keep"] == 0:
                graph.saver.save(session, os.path.join(folder, "meter"), global_step=graph.step)


if __name__ == "__main__":
    main(flags)
