"""Draws a balanced set of crops from three scanners and writes it as records; no model here."""
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

SOURCES = {"north": (360, 0.5), "south": (240, 0.3), "west": (180, 0.2)}
CROPS = 3000
SIDE = 96


def scan(folder, name, count, rng):
    """Page-like pictures, written as PNG."""
    (folder / name).mkdir()
    for i in range(count // 6):
        page = rng.normal(200, 12, (448, 320))
        for row in range(20, 430, int(rng.integers(14, 24))):
            page[row : row + 6, 20 : int(rng.integers(150, 300))] -= 120
        png = tf.io.encode_png(np.clip(page, 0, 255).astype("uint8")[..., None], compression=3)
        tf.io.write_file(str(folder / name / f"{i:03d}.png"), png)


def load(path):
    page = tf.image.decode_png(tf.io.read_file(path), channels=1)
    return tf.image.resize(tf.cast(page, tf.float32) / 255.0, (336, 240), antialias=True)


def crop(page, seed):
    piece = tf.image.stateless_random_crop(page, (SIDE, SIDE, 1), seed)
    piece = tf.image.stateless_random_contrast(piece, 0.7, 1.3, seed)
    return tf.image.per_image_standardization(piece)


def source(folder, name, number):
    files = sorted(str(p) for p in (folder / name).glob("*.png"))
    pages = tf.data.Dataset.from_tensor_slices(files)
    seeds = tf.data.Dataset.random(seed=number).batch(2)
    pages = pages.map(load, num_parallel_calls=tf.data.AUTOTUNE).cache()
    pages = pages.shuffle(len(files), seed=number).repeat()
    crops = tf.data.Dataset.zip(pages, seeds).map(crop, num_parallel_calls=tf.data.AUTOTUNE)
    return crops.map(lambda piece: (piece, number))


def serialise(piece, number):
    png = tf.io.encode_png(tf.cast(tf.clip_by_value(piece * 40 + 128, 0, 255), tf.uint8))
    return tf.strings.join([tf.strings.as_string(number), png], ":")


def main():
    rng = np.random.default_rng(41)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for key, (count, _) in SOURCES.items():
            scan(folder, key, count, rng)
        streams = [source(folder, key, k) for k, key in enumerate(SOURCES)]
        mixed = tf.data.Dataset.sample_from_datasets(
            streams, weights=[share for _, share in SOURCES.values()], seed=41
        )
        mixed = mixed.take(CROPS).shuffle(64, seed=41)
        records = mixed.map(serialise, num_parallel_calls=tf.data.AUTOTUNE).prefetch(8)
        written, total = 0, 0
        with tf.io.TFRecordWriter(str(folder / "crops.tfrecord")) as out:
            for record in records.as_numpy_iterator():
                out.write(record)
                written += 1
                total += len(record)
                if written % 500 == 0:
                    print(f"{written} crops, {total / 1e6:.1f} MB")
        print("written", written, "bytes", total)


if __name__ == "__main__":
    main()
