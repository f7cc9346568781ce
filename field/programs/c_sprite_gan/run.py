import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

from gan import GAN


def crosses(n, seed=0):
    rng = np.random.default_rng(seed)
    imgs = np.zeros((n, 28, 28, 1), np.float32)
    for i, (a, b) in enumerate(rng.integers(6, 22, (n, 2))):
        imgs[i, a - 1:a + 2, 4:24] = 1.0
        imgs[i, 4:24, b - 1:b + 2] = 1.0
    return imgs


if __name__ == "__main__":
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    tf.random.set_seed(1)
    data = tf.data.Dataset.from_tensor_slices(crosses(2048)).shuffle(2048).batch(64, drop_remainder=True)
    gan = GAN()
    state = gan.fit(data, epochs)
    os.makedirs("out", exist_ok=True)
    grid = tf.concat(tf.unstack(state["progress"][-1][:10]), axis=1)
    tf.io.write_file("out/final.png", tf.io.encode_png(tf.cast(grid * 255, tf.uint8)))
