# ruff: noqa
# expect: numpy-in-function 8

from tensorflow import function, reduce_sum


def report(value):
    return float(value.numpy())


def middle(value):
    return report(value) + 1.0


@function
def outer(x):
    return middle(reduce_sum(x))
