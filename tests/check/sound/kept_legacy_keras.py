# ruff: noqa
# expect: nothing

import tf_keras as keras

opt = keras.optimizers.Adam(lr=0.1, decay=1e-3)
saver = keras.callbacks.ModelCheckpoint("weights.ckpt", save_weights_only=True, period=2)
model = keras.Sequential([keras.layers.Dense(1)])
model.save("folder")
model.save_weights("folder/weights")
