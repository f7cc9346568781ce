import os
import tempfile

import numpy as np
from tensorflow import keras

keras.utils.set_random_seed(42)
run = tempfile.mkdtemp(prefix="wine_")

N = 6400
chem = np.random.normal(size=(N, 11)).astype("float32")
quality = (3 + 5 / (1 + np.exp(-chem @ np.random.normal(size=11)))).astype("float32")
cut = int(0.8 * N)

norm = keras.layers.Normalization()
norm.adapt(chem[:cut])
model = keras.Sequential([keras.Input((11,)), norm])
for width in (512, 512, 512):
    model.add(keras.layers.Dense(width, activation="relu"))
    model.add(keras.layers.Dropout(0.1))
model.add(keras.layers.Dense(1))
model.compile(keras.optimizers.Adam(1e-3), "mse", metrics=["mae"])

callbacks = [
    keras.callbacks.ModelCheckpoint(os.path.join(run, "wine-{epoch:02d}.weights.h5"), save_weights_only=True),
    keras.callbacks.CSVLogger(os.path.join(run, "history.csv")),
    keras.callbacks.TensorBoard(os.path.join(run, "tb"), write_graph=False),
    keras.callbacks.EarlyStopping(patience=10, restore_best_weights=True),
    keras.callbacks.ReduceLROnPlateau(patience=3),
    keras.callbacks.TerminateOnNaN(),
]
model.fit(
    chem[:cut], quality[:cut],
    validation_data=(chem[cut:], quality[cut:]),
    batch_size=128, epochs=8, callbacks=callbacks, verbose=2,
)
print(sorted(os.listdir(run)))
