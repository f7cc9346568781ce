# expect: nothing
# steps: 60
"""A small model on batches of two images: small on purpose, and the kernels still take nearly all of the time."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
images = rng.normal(size=(60, 192, 192, 3)).astype("float32")
masks = (images[..., :1] > 0).astype("float32")

model = keras.Sequential(
    [
        keras.Input((192, 192, 3)),
        keras.layers.Conv2D(24, 5, padding="same", activation="relu"),
        keras.layers.Conv2D(1, 5, padding="same", activation="sigmoid"),
    ]
)
model.compile(optimizer="sgd", loss="binary_crossentropy")
history = model.fit(images, masks, batch_size=2, epochs=2, verbose=0)
print("loss", history.history["loss"][-1])
