"""Mean IoU of a segmentation network on the validation scans."""
import argparse

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def unet(size, base, classes):
    inputs = tf.keras.Input((size, size, 1))
    skips, x = [], inputs
    for k in range(3):
        x = layers.Conv2D(base * 2 ** k, 3, padding="same", activation="relu")(x)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(base * 8, 3, padding="same", activation="relu")(x)
    for k in reversed(range(3)):
        x = layers.UpSampling2D()(x)
        x = layers.Concatenate()([x, skips[k]])
        x = layers.Conv2D(base * 2 ** k, 3, padding="same", activation="relu")(x)
    return tf.keras.Model(inputs, layers.Conv2D(classes, 1, activation="softmax")(x))


def scans(n, size, classes, seed=6):
    rng = np.random.default_rng(seed)
    images = rng.random((n, size, size, 1), dtype=np.float32)
    masks = rng.integers(0, classes, (n, size, size), dtype=np.uint8)
    return images, masks


def mean_iou(masks, labels, classes):
    scores = []
    for c in range(classes):
        inter = np.count_nonzero((masks == c) & (labels == c))
        union = np.count_nonzero((masks == c) | (labels == c))
        scores.append(inter / max(union, 1))
    return float(np.mean(scores))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--weights")
    p.add_argument("--scans", type=int, default=260)
    p.add_argument("--size", type=int, default=128)
    p.add_argument("--classes", type=int, default=4)
    args = p.parse_args()

    tf.keras.utils.set_random_seed(6)
    model = unet(args.size, 8, args.classes)
    if args.weights:
        model.load_weights(args.weights)
    images, masks = scans(args.scans, args.size, args.classes)
    probabilities = model.predict(images, batch_size=len(images), verbose=0)
    labels = probabilities.argmax(axis=-1).astype(np.uint8)
    print("scans", len(images), "mean IoU %.4f" % mean_iou(masks, labels, args.classes))


if __name__ == "__main__":
    main()
