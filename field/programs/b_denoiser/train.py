"""Denoising autoencoder over crops, loaded by worker threads."""
import os
import tempfile

import keras
import numpy as np
from keras import layers


class NoisyCrops(keras.utils.PyDataset):
    def __init__(self, images, batch, crop, **kwargs):
        super().__init__(**kwargs)
        self.images, self.batch, self.crop = images, batch, crop

    def __len__(self):
        return 30

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        clean = []
        for _ in range(self.batch):
            img = self.images[rng.integers(len(self.images))]
            r, c = rng.integers(0, img.shape[0] - self.crop, 2)
            clean.append(img[r : r + self.crop, c : c + self.crop])
        clean = np.stack(clean)
        return clean + rng.normal(0, 0.2, clean.shape).astype("float32"), clean


def net(crop):
    x = inp = keras.Input((crop, crop, 1))
    for f in (32, 32, 32):
        x = layers.Conv2D(f, 3, padding="same", activation="relu")(x)
    return keras.Model(inp, layers.Conv2D(1, 3, padding="same")(x))


def main():
    photos = np.random.default_rng(1).random((40, 128, 128, 1), dtype="float32")
    crops = NoisyCrops(photos, batch=16, crop=48, workers=2, max_queue_size=6)
    model = net(48)
    model.compile("adam", "mse")
    folder = tempfile.mkdtemp(prefix="denoiser_")
    first = None
    for stage in range(2):
        h = model.fit(crops, epochs=1, verbose=0)
        first = first or h.history["loss"][0]
        model.save_weights(os.path.join(folder, f"stage{stage}.weights.h5"))
        print("stage", stage, h.history["loss"][0], "from", first)


if __name__ == "__main__":
    main()
