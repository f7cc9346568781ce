import os
import tempfile

import numpy as np
import tensorflow as tf

FIELDS = ["hour", "device", "site", "banner", "country", "campaign"]


def write_logs(rows, shards=4):
    folder = tempfile.mkdtemp(prefix="clicks_")
    rng = np.random.default_rng(9)
    ids = rng.integers(0, 500, (rows, len(FIELDS)))
    clicked = (rng.random(rows) < 0.2 + 0.4 * (ids[:, 0] % 2)).astype(int)
    files = []
    for s in range(shards):
        path = os.path.join(folder, f"part-{s:03d}.tfrecord")
        with tf.io.TFRecordWriter(path) as w:
            for i in range(s, rows, shards):
                ex = tf.train.Example()
                for name, v in zip(FIELDS, ids[i].tolist()):
                    ex.features.feature[name].int64_list.value.append(v)
                ex.features.feature["clicked"].int64_list.value.append(int(clicked[i]))
                w.write(ex.SerializeToString())
        files.append(path)
    return files


SPEC = {name: tf.io.FixedLenFeature([], tf.int64) for name in FIELDS + ["clicked"]}


def parse(record):
    row = tf.io.parse_single_example(record, SPEC)
    label = tf.cast(row.pop("clicked"), tf.float32)
    return tf.stack([row[f] for f in FIELDS], axis=-1), label


def dataset(files, batch):
    ds = tf.data.TFRecordDataset(files)
    ds = ds.shuffle(4096)
    ds = ds.map(parse)
    ds = ds.batch(batch)
    return ds.prefetch(tf.data.AUTOTUNE)
