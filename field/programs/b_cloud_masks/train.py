import tempfile

import keras
from keras import layers

from clouds import tiles
from clouds.loader import TileLoader


def unet(width=8):
    inp = keras.Input((tiles.SIZE, tiles.SIZE, 5))
    a = layers.Conv2D(width, 3, padding="same", activation="relu")(inp)
    b = layers.Conv2D(width * 2, 3, strides=2, padding="same", activation="relu")(a)
    c = layers.Conv2D(width * 2, 3, padding="same", activation="relu")(b)
    u = layers.Conv2DTranspose(width, 2, strides=2)(c)
    out = layers.Conv2D(1, 1, activation="sigmoid")(layers.Concatenate()([a, u]))
    return keras.Model(inp, out)


def main():
    with tempfile.TemporaryDirectory(prefix="tiles_") as folder:
        files = tiles.write_tiles(folder, 240)
        train = TileLoader(files, batch_size=16)
        model = unet()
        model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
        model.fit(train, epochs=6, verbose=2)


if __name__ == "__main__":
    main()
