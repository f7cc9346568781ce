# ruff: noqa
# expect: numpy-in-function 9

import tensorflow


@tensorflow.function(jit_compile=True)
def scale(batch, factor):
    return batch * factor.numpy()
