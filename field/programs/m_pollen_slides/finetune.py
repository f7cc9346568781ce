import argparse
import shutil
import tempfile
import time

import keras
import tensorflow as tf
from keras import layers

from slides import CLASSES, write_slides

IMG = 64


def load(path, label):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    image = tf.image.resize(tf.cast(image, tf.float32), (IMG, IMG), method="area")
    return image / 255.0, label


def make_ds(files, labels, batch, train):
    ds = tf.data.Dataset.from_tensor_slices((files, labels))
    ds = ds.map(load)
    if train:
        ds = ds.shuffle(len(files), seed=1)
    ds = ds.batch(batch)
    return ds.prefetch(tf.data.AUTOTUNE)


def backbone():
    inp = keras.Input((IMG, IMG, 3))
    x = inp
    for width in (16, 32, 48):
        x = layers.SeparableConv2D(width, 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization(momentum=0.8)(x)
        x = layers.ReLU()(x)
    return keras.Model(inp, x, name="backbone")


def classifier(base):
    inp = keras.Input((IMG, IMG, 3))
    x = layers.RandomFlip(seed=2)(inp)
    x = base(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dropout(0.2, seed=3)(x)
    out = layers.Dense(len(CLASSES))(x)
    return keras.Model(inp, out)


def compile_for(model, lr):
    model.compile(
        optimizer=keras.optimizers.Adam(lr),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--images", type=int, default=360)
    ap.add_argument("--size", type=int, default=480)
    ap.add_argument("--batch", type=int, default=24)
    ap.add_argument("--head-epochs", type=int, default=5)
    ap.add_argument("--tune-epochs", type=int, default=11)
    args = ap.parse_args()
    keras.utils.set_random_seed(11)

    folder = tempfile.mkdtemp(prefix="pollen_")
    try:
        files, labels = write_slides(folder, args.images, args.size)
        cut = int(0.8 * len(files))
        train = make_ds(files[:cut], labels[:cut], args.batch, True)
        val = make_ds(files[cut:], labels[cut:], args.batch, False)

        base = backbone()
        model = classifier(base)
        base.trainable = False
        compile_for(model, 5e-3)
        t0 = time.time()
        model.fit(train, validation_data=val, epochs=args.head_epochs, verbose=2)
        print("head trained in %.1f s" % (time.time() - t0))

        base.trainable = True
        compile_for(model, 1e-3)
        t0 = time.time()
        hist = model.fit(
            train,
            validation_data=val,
            epochs=args.tune_epochs,
            callbacks=[keras.callbacks.ReduceLROnPlateau(patience=3, factor=0.5)],
            verbose=2,
        )
        print("fine-tuned in %.1f s" % (time.time() - t0))
        print("best val accuracy %.3f" % max(hist.history["val_accuracy"]))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
