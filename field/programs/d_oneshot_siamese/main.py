import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf

keras = tf.keras
np.random.seed(4)
tf.random.set_seed(4)

ALPHABET = 40
DRAWERS = 12
SIDE = 28
WAYS = 8
TRIALS = 13


def omniglot_like():
    """[character, drawer, side, side]: strokes of a character with some jitter per drawer."""
    base = (np.random.rand(ALPHABET, 1, SIDE, SIDE) > 0.8).astype("float32")
    return np.clip(base + 0.3 * np.random.randn(ALPHABET, DRAWERS, SIDE, SIDE), 0, 1).astype("float32")[..., None]


def make_pairs(images, n):
    left, right, same = [], [], []
    for i in range(n):
        c = np.random.randint(ALPHABET)
        d1, d2 = np.random.choice(DRAWERS, 2, replace=False)
        other = c if i % 2 == 0 else (c + np.random.randint(1, ALPHABET)) % ALPHABET
        left.append(images[c, d1])
        right.append(images[other, d2])
        same.append(float(other == c))
    return [np.stack(left), np.stack(right)], np.array(same, "float32")


def tower():
    return keras.Sequential([
        keras.layers.Conv2D(16, 5, strides=2, activation="relu", input_shape=(SIDE, SIDE, 1)),
        keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(64, activation="sigmoid"),
    ])


def siamese():
    net = tower()
    a, b = keras.Input((SIDE, SIDE, 1)), keras.Input((SIDE, SIDE, 1))
    distance = keras.layers.Lambda(lambda t: tf.abs(t[0] - t[1]))([net(a), net(b)])
    return keras.Model([a, b], keras.layers.Dense(1, activation="sigmoid")(distance))


def one_shot(model, images):
    character = np.random.randint(ALPHABET)
    wrong = np.random.choice([c for c in range(ALPHABET) if c != character], WAYS - 1, replace=False)
    candidates = [character, *wrong]
    query = images[character, 0][None]
    best, best_score = None, -1.0
    for c in candidates:
        score = model.predict([query, images[c, 1][None]], verbose=0)[0, 0]
        if score > best_score:
            best, best_score = c, score
    return best == character


images = omniglot_like()
model = siamese()
model.compile(keras.optimizers.legacy.Adam(1e-3), "binary_crossentropy", metrics=["accuracy"])
pairs, same = make_pairs(images, 1600)
model.fit(pairs, same, batch_size=32, epochs=2, verbose=2)

hits = sum(one_shot(model, images) for _ in range(TRIALS))
print("%d-way one-shot accuracy: %.2f" % (WAYS, hits / TRIALS))
