"""Bark photos: written to shards once, read back for training."""
import numpy as np
import tensorflow as tf

LAYOUT = {"photo": tf.io.FixedLenFeature([], tf.string), "species": tf.io.FixedLenFeature([], tf.int64)}


def draw(rng, species, side):
    rows = np.linspace(0, 1, side, dtype=np.float32)[:, None]
    cols = np.linspace(0, 1, side, dtype=np.float32)[None]
    ridges = np.sin((12 + 9 * species) * cols + 3 * np.sin(5 * rows + rng.uniform(0, 6)))
    grain = rng.normal(0, 0.35, (side, side)).astype(np.float32)
    grey = 110 + 55 * ridges + 30 * grain
    return np.clip(np.stack([grey + 15, grey, grey - 20], -1), 0, 255).astype(np.uint8)


def write(job):
    rng = np.random.default_rng(job.seed)
    for k in range(job.shards):
        with tf.io.TFRecordWriter(job.shard(k)) as out:
            for _ in range(job.per_shard):
                species = int(rng.integers(job.species))
                photo = tf.io.encode_png(draw(rng, species, job.photo), compression=1).numpy()
                out.write(tf.train.Example(features=tf.train.Features(feature={
                    "photo": tf.train.Feature(bytes_list=tf.train.BytesList(value=[photo])),
                    "species": tf.train.Feature(int64_list=tf.train.Int64List(value=[species])),
                })).SerializeToString())


class Reader:
    def __init__(self, job):
        self.job = job

    def parse(self, record):
        row = tf.io.parse_single_example(record, LAYOUT)
        photo = tf.io.decode_png(row["photo"], channels=3)
        photo = tf.image.resize(photo, (self.job.crop + 8, self.job.crop + 8), method="area")
        return photo / 127.5 - 1, row["species"]

    def vary(self, photo, species):
        photo = tf.image.random_crop(photo, (self.job.crop, self.job.crop, 3))
        return tf.image.random_flip_left_right(photo), species

    def dataset(self):
        files = tf.data.Dataset.list_files(self.job.pattern, shuffle=True, seed=self.job.seed)
        rows = files.interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=2)
        rows = rows.map(self.parse, num_parallel_calls=tf.data.AUTOTUNE)
        rows = rows.shuffle(240, seed=self.job.seed).map(self.vary, num_parallel_calls=tf.data.AUTOTUNE)
        return rows.batch(self.job.batch).prefetch(tf.data.AUTOTUNE)
