import os
import tempfile

import numpy as np
import tensorflow as tf

SIDE, KINDS = 56, 10


class GlyphStream:
    """Endless noisy glyphs, drawn and shifted in NumPy."""

    def __init__(self, batch, seed):
        self.batch = batch
        self.rng = np.random.default_rng(seed)
        self.shapes = np.kron(self.rng.integers(0, 2, (KINDS, 7, 7)), np.ones((8, 8))).astype(np.float32)

    def __iter__(self):
        while True:
            labels = self.rng.integers(0, KINDS, self.batch)
            images = self.shapes[labels]
            shift = self.rng.integers(-6, 7, 2)
            images = np.roll(images, shift, (1, 2))
            images = images + self.rng.standard_normal(images.shape, dtype=np.float32)
            yield images[..., None], labels.astype(np.int32)


class Progress(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(logs["loss"])
        if batch % 10 == 0:
            print(f"   batch {batch:3d} loss {self.seen[-1]:.4f}")


def main():
    tf.keras.utils.set_random_seed(2)
    stream = GlyphStream(64, seed=2)
    ds = tf.data.Dataset.from_generator(
        lambda: iter(stream),
        output_signature=(tf.TensorSpec((64, SIDE, SIDE, 1), tf.float32), tf.TensorSpec((64,), tf.int32)))
    model = tf.keras.Sequential([
        tf.keras.layers.Input((SIDE, SIDE, 1)),
        tf.keras.layers.Conv2D(32, 5, padding="same", activation="relu"),
        tf.keras.layers.Conv2D(48, 3, padding="same", activation="relu"),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Conv2D(64, 3, padding="same", activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(KINDS),
    ])
    model.compile(tf.keras.optimizers.Adam(1e-3), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  metrics=["accuracy"])
    folder = tempfile.mkdtemp(prefix="glyphs_")
    keep = tf.keras.callbacks.ModelCheckpoint(os.path.join(folder, "epoch_{epoch}.weights.h5"),
                                              save_weights_only=True)
    model.fit(ds, steps_per_epoch=12, epochs=3, verbose=0, callbacks=[Progress(), keep])
    images, labels = next(iter(stream))
    print("fresh batch:", model.evaluate(images, labels, verbose=0), sorted(os.listdir(folder)))


if __name__ == "__main__":
    main()
