"""Channel mean and standard deviation of a photo collection, straight from the JPEG files."""
import os
import tempfile

import numpy as np
import tensorflow as tf

COPIES = 250


def demo_photos(folder, distinct=4, height=1200, width=1600):
    rng = np.random.default_rng(8)
    for i in range(distinct):
        coarse = rng.integers(0, 256, (height // 12, width // 12, 3)).astype(np.float32)
        photo = tf.image.resize(coarse, [height, width], method="bicubic")
        photo = tf.cast(tf.clip_by_value(photo, 0, 255), tf.uint8)
        tf.io.write_file(os.path.join(folder, f"p{i}.jpg"), tf.io.encode_jpeg(photo, quality=92))
    return [os.path.join(folder, f"p{i % distinct}.jpg") for i in range(distinct * COPIES)]


def moments(path):
    pixels = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    pixels = pixels[::8, ::8]  # every 8th row and column is plenty
    pixels = tf.reshape(tf.cast(pixels, tf.float32), [-1, 3])
    return tf.reduce_mean(pixels, 0), tf.reduce_mean(tf.square(pixels), 0)


def main():
    with tempfile.TemporaryDirectory() as folder:
        paths = demo_photos(folder)
        dataset = tf.data.Dataset.from_tensor_slices(paths).map(moments, num_parallel_calls=tf.data.AUTOTUNE)
        count, first, second = dataset.reduce(
            (tf.constant(0.0), tf.zeros(3), tf.zeros(3)),
            lambda state, m: (state[0] + 1.0, state[1] + m[0], state[2] + m[1]),
        )
        mean = first / count
        std = tf.sqrt(second / count - tf.square(mean))
        print(int(count), "photos  mean", np.round(mean.numpy(), 2), "std", np.round(std.numpy(), 2))


if __name__ == "__main__":
    main()
