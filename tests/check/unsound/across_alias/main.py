# ruff: noqa
# expect: removed-argument 7
# expect: numpy-in-function 12

from setup_tf import K, tf

opt = K.optimizers.Adamax(lr=0.01)


@tf.function
def f(x):
    return x.numpy()
