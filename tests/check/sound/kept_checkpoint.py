# ruff: noqa
# expect: nothing

from tensorflow.keras.callbacks import (
    EarlyStopping,
    ModelCheckpoint,
    ReduceLROnPlateau,
    TensorBoard,
)

callbacks = [
    ModelCheckpoint("best.keras", save_best_only=True, save_freq="epoch"),
    ModelCheckpoint("w-{epoch:02d}.weights.h5", save_weights_only=True),
    ModelCheckpoint("old.h5"),
    EarlyStopping(patience=3, restore_best_weights=True, start_from_epoch=2),
    ReduceLROnPlateau(min_delta=1e-3),
    TensorBoard("logs", update_freq=100, profile_batch=0),
]
