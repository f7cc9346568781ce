import argparse
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

from toygan.logger import Logger
from toygan.nets import GAN

tf.disable_v2_behavior()


def ring(n):
    k = np.random.randint(0, 8, n)
    centre = np.stack([np.cos(k * np.pi / 4), np.sin(k * np.pi / 4)], 1) * 2
    return (centre + 0.05 * np.random.randn(n, 2)).astype(np.float32)


def save(sess, folder, step):
    saver = tf.train.Saver(max_to_keep=2)
    return saver.save(sess, os.path.join(folder, "gan"), global_step=step, write_meta_graph=False)


def train(args):
    gan = GAN()
    folder = args.out or tempfile.mkdtemp(prefix="toygan")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        log = Logger(sess, os.path.join(folder, "tb"))
        for step in range(args.steps):
            z = np.random.randn(args.batch, gan.z_dim).astype(np.float32)
            _, d = sess.run([gan.d_step, gan.d_loss], {gan.x: ring(args.batch), gan.z: z})
            z = np.random.randn(args.batch, gan.z_dim).astype(np.float32)
            _, g = sess.run([gan.g_step, gan.g_loss], {gan.z: z})
            log.scalars("loss", {"d": d, "g": g, "gap": g - d}, step)
            if (step + 1) % args.save_every == 0:
                path = save(sess, folder, step + 1)
                print("step %4d  d %.3f  g %.3f  -> %s" % (step + 1, d, g, os.path.basename(path)))
        log.close()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=220)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--save-every", type=int, default=20)
    p.add_argument("--out", default="")
    train(p.parse_args())
