# expect: memory-peak
# steps: 48
"""Images in a list, and the array that is made of it: both stay until the end."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
images = []
for _ in range(768):
    images.append(rng.standard_normal((224, 224, 3), dtype=np.float32))  # <-- memory-peak
x = np.stack(images)
y = rng.standard_normal((len(x), 1), dtype=np.float32)


class Batches(tf.keras.utils.PyDataset):
    def __len__(self):
        return len(x) // 16

    def __getitem__(self, index):
        return x[index * 16 : (index + 1) * 16], y[index * 16 : (index + 1) * 16]


model = tf.keras.Sequential(
    [
        tf.keras.Input((224, 224, 3)),
        tf.keras.layers.Conv2D(4, 7, strides=7, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(1),
    ]
)
model.compile("sgd", "mse")
model.fit(Batches(), verbose=0)
print("done")
