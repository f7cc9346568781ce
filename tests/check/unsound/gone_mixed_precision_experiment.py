# ruff: noqa
# expect: removed-argument 6

from tensorflow.keras.mixed_precision import experimental as mixed

mixed.set_policy("mixed_float16")
