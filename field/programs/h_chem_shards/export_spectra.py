"""Converts raw infrared scans to TFRecord shards (baseline removed, resampled, scaled) and checks one of them."""
import argparse
import os
import tempfile
import time

import numpy as np
import tensorflow as tf


def scans(count, points, seed):
    rng = np.random.default_rng(seed)
    grid = np.linspace(0, 1, points)
    for number in range(count):
        centers = rng.uniform(0.05, 0.95, 9)
        heights = rng.gamma(2.0, 0.5, 9)
        peaks = (heights[:, None] * np.exp(-((grid - centers[:, None]) / 0.012) ** 2)).sum(0)
        drift = rng.normal() * grid + rng.normal() * grid ** 2
        yield number, (peaks + drift + rng.normal(0, 0.01, points)).astype(np.float32), int(heights.argmax())


def condition(scan, width):
    scan = tf.convert_to_tensor(scan)
    kernel = tf.ones([151, 1, 1]) / 151.0
    baseline = tf.nn.conv1d(scan[None, :, None], kernel, stride=1, padding="SAME")[0, :, 0]
    flat = scan - baseline
    resampled = tf.image.resize(flat[None, :, None], [1, width])[0, :, 0]
    return resampled / (tf.reduce_max(tf.abs(resampled)) + 1e-6)


def float_feature(values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=[float(v) for v in values]))


def int_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def to_example(number, scan, strongest, width):
    return tf.train.Example(features=tf.train.Features(feature={
        "number": int_feature(number),
        "strongest": int_feature(strongest),
        "scan": float_feature(condition(scan, width)),
    })).SerializeToString()


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--scans", type=int, default=200)
    ap.add_argument("--points", type=int, default=1800)
    ap.add_argument("--width", type=int, default=512)
    ap.add_argument("--per-shard", type=int, default=40)
    args = ap.parse_args()

    out = tempfile.mkdtemp(prefix="spectra-")
    writer, shard, began = None, 0, time.time()
    for number, scan, strongest in scans(args.scans, args.points, seed=12):
        if number % args.per_shard == 0:
            if writer:
                writer.close()
            path = os.path.join(out, "scans-%03d.tfrecord" % shard)
            writer, shard = tf.io.TFRecordWriter(path), shard + 1
            print("writing %s (%.1f s)" % (os.path.basename(path), time.time() - began))
        writer.write(to_example(number, scan, strongest, args.width))
    writer.close()

    layout = {"scan": tf.io.FixedLenFeature([args.width], tf.float32), "strongest": tf.io.FixedLenFeature([], tf.int64)}
    back = tf.data.TFRecordDataset(path).batch(64).map(lambda raw: tf.io.parse_example(raw, layout))
    energy = [float(tf.reduce_mean(tf.square(b["scan"]))) for b in back]
    print("shards %d, mean energy of the last %.4f" % (shard, np.mean(energy)))
    tf.io.gfile.rmtree(out)


if __name__ == "__main__":
    main()
