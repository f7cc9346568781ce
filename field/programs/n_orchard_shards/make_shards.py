"""Cut the orchard camera dump into training shards.

The dump is one TFRecord file of raw (PNG, tree id, date) records.  Each shard gets resized,
white-balanced pictures so that training only has to decode a JPEG.
"""
import argparse
import os
import shutil
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

FEATURES = {
    "png": tf.io.FixedLenFeature([], tf.string),
    "tree": tf.io.FixedLenFeature([], tf.int64),
    "day": tf.io.FixedLenFeature([], tf.int64),
}


def _bytes(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def _int(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def write_dump(path, pictures, side, seed):
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 256, (24, side // 8, side // 8, 3), dtype=np.uint8).repeat(8, 1).repeat(8, 2)
    pngs = [tf.io.encode_png(b ^ rng.integers(0, 8, b.shape, dtype=np.uint8)).numpy() for b in base]
    with tf.io.TFRecordWriter(path) as out:
        for i in range(pictures):
            example = tf.train.Example(features=tf.train.Features(feature={
                "png": _bytes(pngs[i % len(pngs)]),
                "tree": _int(int(rng.integers(0, 400))),
                "day": _int(i // 50),
            }))
            out.write(example.SerializeToString())


def parse(record, size):
    item = tf.io.parse_single_example(record, FEATURES)
    image = tf.cast(tf.io.decode_png(item["png"], channels=3), tf.float32)
    gray = tf.reduce_mean(image)
    gain = gray / (tf.reduce_mean(image, axis=[0, 1]) + 1e-3)
    image = tf.image.resize(image * gain, (size, size), antialias=True)
    image = tf.cast(tf.clip_by_value(image, 0.0, 255.0), tf.uint8)
    return image, item["tree"], item["day"]


def load(path, size):
    raw = tf.data.TFRecordDataset(path)
    return raw.map(lambda r: parse(r, size), num_parallel_calls=tf.data.AUTOTUNE)


def write_shard(path, dataset):
    count, mean = 0, 0.0
    with tf.io.TFRecordWriter(path) as out:
        for image, tree, day in dataset.prefetch(tf.data.AUTOTUNE):
            jpeg = tf.io.encode_jpeg(image, quality=90)
            example = tf.train.Example(features=tf.train.Features(feature={
                "jpeg": _bytes(jpeg.numpy()),
                "tree": _int(int(tree)),
                "day": _int(int(day)),
            }))
            out.write(example.SerializeToString())
            count += 1
            mean += float(np.mean(image))
    return count, mean / max(count, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=600)
    parser.add_argument("--side", type=int, default=320)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--shards", type=int, default=15)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()

    folder = tempfile.mkdtemp(prefix="orchard_")
    try:
        dump = os.path.join(folder, "dump.tfrecord")
        write_dump(dump, args.pictures, args.side, args.seed)
        print("dump: %.1f MB" % (os.path.getsize(dump) / 1e6))

        dataset = load(dump, args.size)
        per_shard = -(-args.pictures // args.shards)
        for i in range(args.shards):
            part = dataset.skip(i * per_shard).take(per_shard)
            path = os.path.join(folder, "part-%05d-of-%05d" % (i, args.shards))
            count, mean = write_shard(path, part)
            print("shard %2d: %4d pictures, mean %.2f, %.2f MB"
                  % (i, count, mean, os.path.getsize(path) / 1e6))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
