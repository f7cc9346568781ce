"""Land-cover map of an orthophoto: cut into tiles, segment, stitch, count hectares."""
import json

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

CONFIG = json.loads("""{
  "side": 1920, "tile": 96, "classes": 6, "width": 20,
  "flights": {"april": 21, "august": 22},
  "names": ["water", "forest", "meadow", "field", "road", "roof"]
}""")


def orthophoto(side, seed):
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 255, (side // 32, side // 32, 3), dtype=np.uint8)
    photo = coarse.repeat(32, axis=0).repeat(32, axis=1)
    photo[::7] //= 2
    return photo


def cut(photo, tile):
    n = photo.shape[0] // tile
    blocks = photo.reshape(n, tile, n, tile, 3).swapaxes(1, 2)
    return blocks.reshape(n * n, tile, tile, 3)


def stitch(tiles, n):
    tile = tiles.shape[1]
    return tiles.reshape(n, n, tile, tile).swapaxes(1, 2).reshape(n * tile, n * tile)


def network(tile, width, classes):
    tf.keras.utils.set_random_seed(2)
    inputs = tf.keras.Input((tile, tile, 3))
    a = layers.Conv2D(width, 3, padding="same", activation="relu")(inputs)
    b = layers.Conv2D(width * 2, 3, strides=2, padding="same", activation="relu")(a)
    b = layers.Conv2D(width * 2, 3, padding="same", activation="relu")(b)
    c = layers.UpSampling2D()(b)
    c = layers.Concatenate()([a, c])
    c = layers.Conv2D(width, 3, padding="same", activation="relu")(c)
    outputs = layers.Conv2D(classes, 1, activation="softmax")(c)
    return tf.keras.Model(inputs, outputs)


def cover_of(photo, model):
    tiles = cut(photo, CONFIG["tile"])
    mean, std = tiles.mean(axis=(0, 1, 2)), tiles.std(axis=(0, 1, 2))
    scaled = ((tiles - mean) / std).astype(np.float32)
    scores = model.predict(scaled, batch_size=len(scaled), verbose=0)
    return stitch(scores.argmax(axis=-1), CONFIG["side"] // CONFIG["tile"])


def main():
    model = network(CONFIG["tile"], CONFIG["width"], CONFIG["classes"])
    for flight, seed in CONFIG["flights"].items():
        photo = orthophoto(CONFIG["side"], seed)
        cover = cover_of(photo, model)
        print(flight, photo.shape)
        for k, name in enumerate(CONFIG["names"]):
            print("  %-7s %8.2f ha" % (name, (cover == k).sum() * 0.04 / 1e4))


if __name__ == "__main__":
    main()
