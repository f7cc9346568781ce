"""Grow a large woven texture that has the filter statistics of a small sample (random multi-scale filters, no training set)."""
import argparse
import math

import keras
import numpy as np
import tensorflow as tf


def sample(side, seed):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side] / side * 2 * math.pi
    warp = np.sin(11 * x + 0.4 * np.sin(3 * y))
    weft = np.sin(9 * y + 0.4 * np.sin(4 * x))
    cloth = np.where((warp > 0) ^ (weft > 0), warp, weft)
    picture = np.stack([cloth, 0.5 * cloth + 0.2, -0.3 * cloth], -1) + rng.normal(0, 0.05, (side, side, 3))
    return tf.constant(picture[None], tf.float32)


class Statistics:
    def __init__(self, counts, seed):
        draw = tf.random.Generator.from_seed(seed)
        self.banks = []
        depth = 3
        for count in counts:
            self.banks.append(draw.normal((7, 7, depth, count), stddev=1 / math.sqrt(49 * depth)))
            depth = count

    def __call__(self, picture):
        out, x = [], picture
        for bank in self.banks:
            x = tf.nn.relu(tf.nn.conv2d(x, bank, 1, "SAME"))
            flat = tf.reshape(x, (-1, x.shape[-1]))
            out.append(tf.linalg.matmul(flat, flat, transpose_a=True) / tf.cast(tf.shape(flat)[0], tf.float32))
            x = tf.nn.avg_pool2d(x, 2, 2, "SAME")
        return out


class Loom:
    def __init__(self, goal, side, rate):
        self.statistics = Statistics((64, 64, 64), seed=77)
        self.goal = [tf.stop_gradient(g) for g in self.statistics(goal)]
        self.cloth = tf.Variable(tf.random.stateless_normal((1, side, side, 3), (5, 6), stddev=0.3))
        self.optimizer = keras.optimizers.Adam(rate)

    def miss(self):
        there = self.statistics(self.cloth)
        return tf.add_n([tf.reduce_sum((a - b) ** 2) / tf.reduce_sum(b ** 2) for a, b in zip(there, self.goal)])

    def pick(self):
        with tf.GradientTape() as tape:
            miss = self.miss()
        self.optimizer.apply_gradients([(tape.gradient(miss, self.cloth), self.cloth)])
        return float(miss)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--picks", type=int, default=30)
    args = parser.parse_args()
    keras.utils.set_random_seed(77)
    loom = Loom(sample(128, 77), args.side, 0.03)
    trail = []
    for pick in range(args.picks):
        trail.append(loom.pick())
        print(f"pick {pick + 1:3d}  miss {trail[-1]:.5f}  best {min(trail):.5f}")
    print("range", float(tf.reduce_min(loom.cloth)), float(tf.reduce_max(loom.cloth)))


if __name__ == "__main__":
    main()
