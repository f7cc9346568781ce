# ruff: noqa
# expect: removed-argument 9

import keras

C = keras.callbacks
folder = "checkpoints"
saver = C.ModelCheckpoint(
    folder + "/epoch-{epoch:03d}.ckpt",
    save_weights_only=True,
)
