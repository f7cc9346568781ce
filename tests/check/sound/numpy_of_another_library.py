# ruff: noqa
# expect: nothing

import tensorflow as tf
import torch


class Holder:
    def numpy(self):
        return 1


holder = Holder()


@tf.function
def f(x):
    y = torch.ones(3).numpy()
    own = Holder()
    return x + y + holder.numpy() + own.numpy()
