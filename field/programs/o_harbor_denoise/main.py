import argparse
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

from net import Denoiser

tf.disable_v2_behavior()

parser = argparse.ArgumentParser(description="blind-ish denoising of harbour webcam frames")
parser.add_argument("--epoch", type=int, default=4)
parser.add_argument("--batch_size", type=int, default=8)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--sigma", type=float, default=25.0)
parser.add_argument("--patches", type=int, default=800)
parser.add_argument("--ckpt_dir", default=None)


def make_scene(rng, size):
    y, x = np.mgrid[0:size, 0:size] / float(size)
    img = 0.4 + 0.25 * np.sin(6 * (x * rng.rand() + y * rng.rand()) + rng.rand() * 6)
    for _ in range(4):
        cx, cy, r = rng.rand(), rng.rand(), 0.05 + 0.15 * rng.rand()
        img[(np.abs(x - cx) < r) & (np.abs(y - cy) < r * 0.5)] = rng.rand()
    return np.clip(img, 0, 1)


def load(n, size, seed):
    rng = np.random.RandomState(seed)
    return np.stack([make_scene(rng, size) for _ in range(n)])[..., None].astype(np.float32)


def main(args):
    rng = np.random.RandomState(11)
    tf.set_random_seed(11)
    patches = load(args.patches, 24, 1)
    frames = load(24, 48, 2)
    with tf.Session() as sess:
        model = Denoiser(sess, args.sigma, args.ckpt_dir or tempfile.mkdtemp())
        model.train(patches, frames, args.epoch, args.batch_size, args.lr, rng)


if __name__ == "__main__":
    main(parser.parse_args())
