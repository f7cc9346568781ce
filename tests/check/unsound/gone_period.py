# ruff: noqa
# expect: removed-argument 9

from tensorflow.keras.callbacks import ModelCheckpoint as Keep

saver = Keep(
    "best.keras",
    monitor="val_loss",
    period=5,
)
