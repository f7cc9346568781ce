#!/usr/bin/env python
"""Describe every picture of a collection by the mean activations of a small VGG-like network, then find near
duplicates.  The network is frozen; the weights would come from a checkpoint (here: random filters, which are
a decent texture descriptor)."""
import argparse
import logging
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
log = logging.getLogger("extract")

CHANNELS = [(24, 2), (48, 3), (96, 3), (192, 4)]


class FrozenNet:
    def __init__(self, size, ckpt=None, seed=0):
        self.graph = tf.Graph()
        with self.graph.as_default():
            tf.set_random_seed(seed)
            self.images = tf.placeholder(tf.uint8, [None, size, size, 3], "images")
            x = tf.cast(self.images, tf.float32) / 127.5 - 1.0
            self.endpoints = {}
            c_in = 3
            for b, (c, reps) in enumerate(CHANNELS, 1):
                for r in range(1, reps + 1):
                    name = "conv%d_%d" % (b, r)
                    k = tf.get_variable(name, [3, 3, c_in, c], initializer=tf.variance_scaling_initializer(2.0))
                    stride = 2 if r == 1 else 1
                    x = tf.nn.relu(tf.nn.conv2d(x, k, strides=stride, padding="SAME"))
                    self.endpoints[name] = x
                    c_in = c
            self.endpoints["descriptor"] = tf.nn.l2_normalize(tf.reduce_mean(x, [1, 2]), axis=1)
            self.init = tf.global_variables_initializer()
            self.saver = tf.train.Saver()
        self.sess = tf.Session(graph=self.graph)
        self.sess.run(self.init)
        if ckpt:
            self.saver.restore(self.sess, ckpt)
        self.graph.finalize()

    def forward(self, images):
        return self.sess.run(self.endpoints, feed_dict={self.images: images})

    def close(self):
        self.sess.close()


def collection(n, size, batch, seed=1):
    """Synthetic textures; every fifth picture is a noisy copy of an earlier one."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 256, (64, size, size, 3), dtype=np.uint8)
    for s in range(0, n, batch):
        pick = rng.integers(0, 64, batch)
        imgs = np.roll(base[pick], int(rng.integers(size)), axis=1)
        yield np.arange(s, s + batch), imgs


def near_duplicates(desc, threshold):
    sims = desc @ desc.T
    np.fill_diagonal(sims, 0)
    a, b = np.where(np.triu(sims) > threshold)
    return list(zip(a.tolist(), b.tolist()))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pictures", type=int, default=800)
    ap.add_argument("--size", type=int, default=160)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--threshold", type=float, default=0.99999)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")

    net = FrozenNet(args.size)
    ids, results = [], []
    t = time.time()
    for i, imgs in collection(args.pictures, args.size, args.batch):
        out = net.forward(imgs)
        ids.append(i)
        results.append(out)
        if len(ids) % 10 == 0:
            log.info("%d pictures, %.1f per second", len(ids) * args.batch, len(ids) * args.batch / (time.time() - t))
    net.close()
    desc = np.concatenate([r["descriptor"] for r in results])
    dup = near_duplicates(desc, args.threshold)
    log.info("descriptors %s mean %.6f, %d near duplicates", desc.shape, desc.mean(), len(dup))
    np.save("descriptors.npy", desc)


if __name__ == "__main__":
    main()
