import argparse
import os
import tempfile
import time
from collections import Counter

import keras
import numpy as np
import tensorflow as tf
from keras import layers

TILE = 64
LABELS = ["bare", "blossom", "fruit", "scab"]
CAMERAS = {"mast": (448, 640), "drone": (512, 512), "rover": (320, 576)}


def build_detector():
    inp = keras.Input((None, None, 3))
    x = layers.Conv2D(24, 5, strides=2, padding="same", activation="relu", kernel_initializer="he_normal")(inp)
    for w in (32, 48, 64):
        x = layers.Conv2D(w, 3, padding="same", activation="relu", kernel_initializer="he_normal")(x)
        x = layers.Conv2D(w, 3, strides=2, padding="same", activation="relu", kernel_initializer="he_normal")(x)
    x = layers.AveragePooling2D(TILE // 16)(x)
    x = layers.Conv2D(len(LABELS), 1, activation="softmax", kernel_initializer="he_normal")(x)
    return keras.Model(inp, x, name="detector")


class Scanner:
    def __init__(self, path):
        self.net = keras.models.load_model(path, compile=False)
        self.score = tf.function(self._score)
        self.seen = Counter()

    def _score(self, frame):
        frame = tf.cast(frame, tf.float32) / 127.5 - 1.0
        p = self.net(frame, training=False)
        return tf.argmax(p, -1, output_type=tf.int32), tf.reduce_max(p, -1)

    def __call__(self, camera, frames):
        label, sure = self.score(tf.constant(frames))
        label, sure = label.numpy(), sure.numpy()
        report = []
        for grid, conf in zip(label, sure):
            counts = Counter(grid.ravel().tolist())
            self.seen.update(counts)
            report.append((camera, LABELS[counts.most_common(1)[0][0]], float(conf.mean())))
        return report


def walk(rng, stops, per_stop):
    """frames of one pass along the rows, in the order in which the cameras deliver them"""
    names = list(CAMERAS)
    for stop in range(stops):
        camera = names[stop % len(names)]
        h, w = CAMERAS[camera]
        base = rng.integers(0, 200, (per_stop, h // 16, w // 16, 3), dtype=np.uint8)
        yield stop, camera, base.repeat(16, 1).repeat(16, 2)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--stops", type=int, default=210)
    ap.add_argument("--frames", type=int, default=4)
    args = ap.parse_args()
    keras.utils.set_random_seed(13)
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "detector.keras")
        build_detector().save(path)
        scanner = Scanner(path)
        rows, t0 = [], time.time()
        for stop, camera, frames in walk(np.random.default_rng(13), args.stops, args.frames):
            rows.extend(scanner(camera, frames))
            if stop % 30 == 29:
                print("stop %3d  %d frames  %.1f fps" % (stop + 1, len(rows), len(rows) / (time.time() - t0)))
    print({LABELS[k]: v for k, v in sorted(scanner.seen.items())})
    for camera in CAMERAS:
        conf = [c for cam, _, c in rows if cam == camera]
        print("%-6s frames %d  mean confidence %.4f" % (camera, len(conf), np.mean(conf)))


if __name__ == "__main__":
    main()
