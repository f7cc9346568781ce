# ruff: noqa
# expect: removed-argument 8

from keras import optimizers

opt = optimizers.Adam(
    learning_rate=1e-3,
    decay=1e-6,
)
