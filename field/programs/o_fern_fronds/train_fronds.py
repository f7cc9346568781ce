import os
import shutil
import tempfile

import keras
import numpy as np
from keras import layers

from fronds import FrondSequence, collection

params = dict(classes=6, size=80, n_train=320, n_val=96, batch_size=8, epochs=4, lr=2e-3, width=24)


def block(x, f, stride):
    short = x
    x = layers.Conv2D(f, 3, strides=stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    x = layers.Conv2D(f, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    if stride != 1 or short.shape[-1] != f:
        short = layers.Conv2D(f, 1, strides=stride, use_bias=False)(short)
    return layers.ReLU()(layers.Add()([x, short]))


def resnet(p):
    inp = keras.Input((p["size"], p["size"], 3))
    x = layers.Conv2D(p["width"], 3, padding="same", activation="relu")(inp)
    for k, stride in enumerate((1, 2, 2)):
        x = block(x, p["width"] * 2 ** k, stride)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inp, layers.Dense(p["classes"], activation="softmax")(x))


class Confusion(keras.callbacks.Callback):
    def __init__(self, x, y, classes):
        super().__init__()
        self.x, self.y, self.classes = x, y, classes

    def on_epoch_end(self, epoch, logs=None):
        pred = self.model.predict(self.x, batch_size=32, verbose=0).argmax(-1)
        table = np.zeros((self.classes, self.classes), int)
        for t, p in zip(self.y, pred):
            table[t, p] += 1
        print("epoch", epoch, {k: round(v, 4) for k, v in logs.items()})
        print(table)


def main(p):
    keras.utils.set_random_seed(6)
    x, y = collection(p["n_train"], p["classes"], p["size"], 0)
    xv, yv = collection(p["n_val"], p["classes"], p["size"], 1)
    folder = tempfile.mkdtemp(prefix="fronds")
    model = resnet(p)
    model.compile(keras.optimizers.SGD(p["lr"], momentum=0.9, nesterov=True),
                  "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(FrondSequence(x, y, p["batch_size"]), epochs=p["epochs"], validation_data=(xv, yv), verbose=0,
              callbacks=[Confusion(xv, yv, p["classes"]),
                         keras.callbacks.ModelCheckpoint(os.path.join(folder, "frond_{epoch:02d}.keras")),
                         keras.callbacks.CSVLogger(os.path.join(folder, "log.csv"))])
    print(sorted(os.listdir(folder)))
    shutil.rmtree(folder)


if __name__ == "__main__":
    main(params)
