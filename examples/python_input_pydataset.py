# expect: python-input
# steps: 60
"""A Keras PyDataset with one worker builds its batches row by row."""

import keras
import numpy as np


class Windows(keras.utils.PyDataset):
    def __init__(self, series, size, **options):
        super().__init__(**options)
        self.series = series
        self.size = size

    def __len__(self):
        return 20

    def __getitem__(self, index):
        rows, targets = [], []
        for start in range(index * self.size, (index + 1) * self.size):
            window = [float(value) for value in self.series[start : start + 900]]  # <-- python-input
            rows.append(window[:-1])
            targets.append(window[-1])
        return np.array(rows, np.float32), np.array(targets, np.float32)


series = np.sin(np.arange(20_000) / 50)
model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(Windows(series, 256), epochs=3, verbose=0, shuffle=False)
print("done")
