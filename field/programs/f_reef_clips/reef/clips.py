import os

import numpy as np
import tensorflow as tf

FRAMES, SIDE = 16, 112


def record(folder, n, seed=0):
    rng = np.random.default_rng(seed)
    noise = rng.integers(0, 60, (4, FRAMES, SIDE, SIDE), dtype=np.uint8)
    for i in range(n):
        label = i % 4
        clip = noise[rng.integers(4)].copy()
        y, x = rng.integers(20, 70, 2)
        for t in range(FRAMES):
            dy, dx = [(t, 0), (0, t), (t, t), (0, 0)][label]
            clip[t, y + dy:y + dy + 14, x + dx:x + dx + 14] = 220
        clip.tofile(os.path.join(folder, f"{label}_{i:05d}.raw"))


def load(path):
    clip = tf.io.decode_raw(tf.io.read_file(path), tf.uint8)
    label = tf.strings.to_number(tf.strings.substr(tf.strings.split(path, "/")[-1], 0, 1), tf.int32)
    return tf.reshape(clip, (FRAMES, SIDE, SIDE, 1)), label


def dataset(folder, n, batch):
    ds = tf.data.Dataset.list_files(os.path.join(folder, "*.raw"), shuffle=False)
    ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE).cache()
    ds = ds.shuffle(n, seed=3).batch(batch)
    ds = ds.map(lambda clip, label: (tf.cast(clip, tf.float32) / 255.0, label))
    return ds.prefetch(1)
