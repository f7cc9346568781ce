"""Offline augmentation: writes several randomised versions of every picture to TFRecord shards."""
import os
import tempfile
from dataclasses import dataclass

import numpy as np
import tensorflow as tf


@dataclass
class AugmentConfig:
    pictures: int = 640
    versions: int = 3
    side: int = 72
    crop: int = 64
    shards: int = 2
    quality: int = 85


def load_pictures(cfg):
    rng = np.random.default_rng(21)
    coarse = rng.integers(0, 256, (cfg.pictures, cfg.side // 8, cfg.side // 8, 3), dtype=np.uint8)
    return coarse.repeat(8, axis=1).repeat(8, axis=2), rng.integers(0, 10, cfg.pictures)


def augment(picture, cfg):
    img = tf.image.convert_image_dtype(picture, tf.float32)
    img = tf.image.random_flip_left_right(img)
    img = tf.image.random_crop(img, [cfg.crop, cfg.crop, 3])
    img = tf.image.random_brightness(img, 0.15)
    img = tf.image.random_contrast(img, 0.8, 1.25)
    img = tf.image.random_saturation(img, 0.8, 1.25)
    img = tf.image.random_hue(img, 0.05)
    img = tf.image.convert_image_dtype(tf.clip_by_value(img, 0.0, 1.0), tf.uint8)
    return tf.io.encode_jpeg(img, quality=cfg.quality)


def to_example(jpeg, label):
    feature = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[jpeg])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[int(label)])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature))


def main():
    cfg = AugmentConfig()
    pictures, labels = load_pictures(cfg)
    folder = tempfile.mkdtemp(prefix="augmented_")
    writers = [tf.io.TFRecordWriter(os.path.join(folder, f"train-{i:02d}.tfrecord")) for i in range(cfg.shards)]

    written = 0
    for version in range(cfg.versions):
        for picture, label in zip(pictures, labels):
            jpeg = augment(picture, cfg).numpy()
            writers[written % cfg.shards].write(to_example(jpeg, label).SerializeToString())
            written += 1
        print(f"version {version}: {written} records so far")
    for w in writers:
        w.close()
    size = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder))
    print(f"{written} records, {size / 1e6:.1f} MB in {folder}")


if __name__ == "__main__":
    main()
