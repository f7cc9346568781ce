# ruff: noqa
# expect: removed-argument 9

import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.build((None, 2))
for turn in range(3):
    model.save_weights(f"weights_{turn}.hdf5")
