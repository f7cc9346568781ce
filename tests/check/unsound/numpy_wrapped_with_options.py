# ruff: noqa
# expect: numpy-in-function 13

import tensorflow as tf
from functools import partial

compiled = partial(tf.function, reduce_retracing=True)


@partial(tf.function, jit_compile=False)
def one(x):
    total = tf.add(x, 1)
    return total.numpy().tolist()
