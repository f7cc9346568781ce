#!/usr/bin/env python3
# Running mean / variance / range of all sensor channels in a set of TFRecord files.
# The result is stored next to the data and used by the training job for normalisation.
import json
import os
import sys
import tempfile

import numpy as np
import tensorflow as tf

CHANNELS = 16
FILES = 4
SPEC = {
    "values": tf.io.FixedLenFeature([CHANNELS], tf.float32),
    "ok": tf.io.FixedLenFeature([], tf.int64),
}


def write_sample_files(folder, per_file=1250):
    rng = np.random.default_rng(0)
    for n in range(FILES):
        with tf.io.TFRecordWriter(os.path.join(folder, "day%02d.tfrecord" % n)) as w:
            for row in rng.normal(n, 2.0, (per_file, CHANNELS)).astype(np.float32):
                ex = tf.train.Example()
                ex.features.feature["values"].float_list.value.extend(row.tolist())
                ex.features.feature["ok"].int64_list.value.append(int(row[0] > -4))
                w.write(ex.SerializeToString())


class RunningStats:
    def __init__(self, width):
        self.count = tf.Variable(0.0)
        self.mean = tf.Variable(tf.zeros(width))
        self.m2 = tf.Variable(tf.zeros(width))
        self.low = tf.Variable(tf.fill([width], np.inf))
        self.high = tf.Variable(tf.fill([width], -np.inf))

    def update(self, x):
        self.count.assign_add(1.0)
        delta = x - self.mean
        self.mean.assign_add(delta / self.count)
        self.m2.assign_add(delta * (x - self.mean))
        self.low.assign(tf.minimum(self.low, x))
        self.high.assign(tf.maximum(self.high, x))

    def result(self):
        return {
            "count": int(self.count.numpy()),
            "mean": self.mean.numpy().tolist(),
            "std": tf.sqrt(self.m2 / self.count).numpy().tolist(),
            "low": self.low.numpy().tolist(),
            "high": self.high.numpy().tolist(),
        }


def main():
    if len(sys.argv) > 1:
        folder = sys.argv[1]
    else:
        folder = tempfile.mkdtemp(prefix="sensors_")
        write_sample_files(folder)

    files = tf.data.Dataset.list_files(os.path.join(folder, "*.tfrecord"), shuffle=False)
    records = files.interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)
    records = records.map(lambda r: tf.io.parse_single_example(r, SPEC), num_parallel_calls=tf.data.AUTOTUNE)
    records = records.filter(lambda r: tf.equal(r["ok"], 1)).prefetch(tf.data.AUTOTUNE)

    stats = RunningStats(CHANNELS)
    for record in records:
        stats.update(record["values"])

    result = stats.result()
    with open(os.path.join(folder, "stats.json"), "w") as f:
        json.dump(result, f)
    print("records:", result["count"], " mean[0]: %.4f  std[0]: %.4f" % (result["mean"][0], result["std"][0]))


if __name__ == "__main__":
    main()
