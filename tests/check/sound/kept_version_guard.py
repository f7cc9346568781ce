# ruff: noqa
# expect: nothing

import keras

if keras.__version__.startswith("2"):
    saver = keras.callbacks.ModelCheckpoint("a.keras", period=2)
else:
    saver = keras.callbacks.ModelCheckpoint("a.keras", save_freq="epoch")
try:
    opt = keras.optimizers.Adam(lr=0.1)
except (TypeError, ValueError):
    opt = keras.optimizers.Adam(learning_rate=0.1)
