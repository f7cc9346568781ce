import re

import numpy as np
import tensorflow as tf


class Vocabulary:
    def __init__(self, posts):
        words = sorted({w for p in posts for w in self.split(p)})
        self.ids = {w: i + 1 for i, w in enumerate(words)}

    @staticmethod
    def split(post):
        return re.findall(r"[a-z]+", post.lower())

    def encode(self, post):
        return np.array([self.ids.get(w, 0) for w in self.split(post.decode())], np.int32)

    def __len__(self):
        return len(self.ids) + 1


def pipeline(posts, tags, vocabulary, batch):
    def encode(post, tag):
        ids = tf.numpy_function(vocabulary.encode, [post], tf.int32)
        ids.set_shape([None])
        return ids, tag

    ds = tf.data.Dataset.from_tensor_slices((posts, tags))
    ds = ds.map(encode).cache().shuffle(len(posts), seed=3)
    return ds.padded_batch(batch, padded_shapes=([48], []), drop_remainder=True)
