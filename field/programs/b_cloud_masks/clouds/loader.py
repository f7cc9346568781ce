import keras
import numpy as np

from . import tiles


class TileLoader(keras.utils.PyDataset):
    def __init__(self, files, batch_size, **kwargs):
        super().__init__(**kwargs)
        self.files = list(files)
        self.batch_size = batch_size

    def __len__(self):
        return len(self.files) // self.batch_size

    def __getitem__(self, idx):
        x, y = [], []
        for name in self.files[idx * self.batch_size : (idx + 1) * self.batch_size]:
            with np.load(name) as z:
                tile = z["tile"].astype("float32") / 255.0
                mask = z["mask"].astype("float32")
            x.append(np.concatenate([tile, tiles.brightness(tile)], axis=-1))
            y.append(mask)
        return np.stack(x), np.stack(y)

    def on_epoch_end(self):
        np.random.shuffle(self.files)
