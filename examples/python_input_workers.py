# expect: python-input
# steps: 90
"""A Keras PyDataset with two workers reads a whole archive for every row: threads of Python, one at a time."""

import os
import tempfile

import keras
import numpy as np

folder = tempfile.mkdtemp()
rng = np.random.default_rng(0)
for number in range(8):
    np.savez_compressed(os.path.join(folder, f"{number}.npz"), echoes=rng.normal(size=(60, 48, 48)).astype(np.float32))


class Echoes(keras.utils.PyDataset):
    def __len__(self):
        return 30

    def __getitem__(self, index):
        rows = []
        for row in range(8):
            with np.load(os.path.join(folder, f"{row}.npz")) as archive:
                rows.append(archive["echoes"][index])  # <-- python-input
        return np.stack(rows), np.ones((8, 1), np.float32)


model = keras.Sequential([keras.Input((48, 48)), keras.layers.Flatten(), keras.layers.Dense(32), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(Echoes(workers=2), epochs=3, verbose=0, shuffle=False)
print("done")
