"""Sliding-window plume detection on large scenes: overlapping windows, blended with a Hann weight."""
import argparse
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


def network(window):
    keras.utils.set_random_seed(31)
    inp = keras.Input((window, window, 4))
    x, skips = inp, []
    for f in (16, 24, 32):
        x = layers.Conv2D(f, 3, padding="same", activation="relu")(x)
        x = layers.Conv2D(f, 3, padding="same", activation="relu")(x)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    for f, skip in zip((32, 24, 16), reversed(skips)):
        x = layers.Concatenate()([layers.UpSampling2D()(x), skip])
        x = layers.Conv2D(f, 3, padding="same", activation="relu")(x)
    return keras.Model(inp, layers.Conv2D(1, 1, activation="sigmoid")(x))


class Scene:
    def __init__(self, side, seed):
        rng = np.random.default_rng(seed)
        coarse = rng.normal(0, 1, (side // 32, side // 32, 4)).astype("float32")
        self.pixels = tf.image.resize(coarse, [side, side]).numpy()
        self.pixels += rng.standard_normal(self.pixels.shape, dtype="float32") * 0.1
        self.name = "scene_%02d" % seed

    def corners(self, window, stride):
        side = self.pixels.shape[0]
        starts = list(range(0, side - window, stride)) + [side - window]
        return [(r, c) for r in starts for c in starts]


def chunks(seq, n):
    for i in range(0, len(seq), n):
        yield seq[i:i + n]


def detect(model, scene, window, stride, batch):
    side = scene.pixels.shape[0]
    hann = np.hanning(window + 2)[1:-1].astype("float32")
    weight = np.outer(hann, hann)
    acc = np.zeros((side, side), "float32")
    norm = np.zeros((side, side), "float32")
    for group in chunks(scene.corners(window, stride), batch):
        x = np.stack([scene.pixels[r:r + window, c:c + window] for r, c in group])
        p = model.predict_on_batch(x)[..., 0]
        for (r, c), tile in zip(group, p):
            acc[r:r + window, c:c + window] += tile * weight
            norm[r:r + window, c:c + window] += weight
    return acc / norm


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--scenes", type=int, default=3)
    ap.add_argument("--side", type=int, default=768)
    ap.add_argument("--window", type=int, default=96)
    ap.add_argument("--stride", type=int, default=48)
    ap.add_argument("--batch", type=int, default=16)
    args = ap.parse_args()
    model = network(args.window)
    for k in range(args.scenes):
        scene = Scene(args.side, k)
        t0 = time.time()
        heat = detect(model, scene, args.window, args.stride, args.batch)
        print("%s  mean %.4f  p99 %.4f  %.1fs" % (scene.name, heat.mean(), np.quantile(heat, 0.99), time.time() - t0))


if __name__ == "__main__":
    main()
