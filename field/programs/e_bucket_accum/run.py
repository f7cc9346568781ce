import keras
import numpy as np
import tensorflow as tf

from longtext.net import tagger
from longtext.step import MICRO, AccumulatingStep

BUCKETS = {64: 32, 128: 16, 256: 8}


def batches(count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        length = int(rng.choice(list(BUCKETS)))
        rows = BUCKETS[length]
        ids = rng.integers(1, 2000, (MICRO, rows, length)).astype(np.int32)
        tags = ((ids + np.roll(ids, 1, axis=2)) % 9).astype(np.int32)
        yield tf.constant(ids), tf.constant(tags)


def main():
    keras.utils.set_random_seed(55)
    update = AccumulatingStep(tagger())
    window = []
    for k, (ids, tags) in enumerate(batches(75, seed=55), 1):
        loss = update(ids, tags)
        window.append(loss.numpy())
        if k % 15 == 0:
            print("update %d  length %d  loss %.4f" % (k, ids.shape[2], np.mean(window)))
            window.clear()


if __name__ == "__main__":
    main()
