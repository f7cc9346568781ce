"""Committee of three nets of different build for grain yield; spread of the members = uncertainty."""
import gc

import keras
import numpy as np
from keras import layers

MEMBERS = [
    {"width": 96, "depth": 2, "dropout": 0.0},
    {"width": 64, "depth": 3, "dropout": 0.1},
    {"width": 128, "depth": 2, "dropout": 0.2},
]


class Worst(keras.callbacks.Callback):
    """Largest relative error on the validation plots, and best weights so far."""

    def __init__(self, x, y):
        super().__init__()
        self.x, self.y, self.rows, self.best = x, y, [], (np.inf, None)

    def on_epoch_end(self, epoch, logs=None):
        p = np.asarray(self.model(self.x, training=False))[:, 0]
        self.rows.append(float(np.abs(p - self.y).max()))
        if logs["val_loss"] < self.best[0]:
            self.best = (logs["val_loss"], self.model.get_weights())


def fields(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, (n, 24, 12)).astype("float32")
    rain, heat = x[:, 6:18, 0].mean(1), np.maximum(x[:, 10:20, 1], 0.5).mean(1)
    y = 3 * rain - 2 * heat + rain * x[:, :, 2].mean(1) + rng.normal(0, 0.1, n)
    return x, y.astype("float32")


def build(width, depth, dropout):
    inputs = keras.Input((24, 12))
    h = inputs
    for _ in range(depth):
        h = layers.Conv1D(width, 5, padding="same", activation="relu")(h)
        h = layers.SpatialDropout1D(dropout)(h)
    h = layers.GlobalAveragePooling1D()(h)
    model = keras.Model(inputs, layers.Dense(1)(h))
    model.compile(keras.optimizers.Adam(2e-3), "mse")
    return model


def main():
    x, y = fields(3000, 1)
    xv, yv = fields(500, 2)
    xt, yt = fields(500, 3)
    answers = []
    for k, shape in enumerate(MEMBERS):
        keras.utils.clear_session()
        keras.utils.set_random_seed(k)
        model = build(**shape)
        watch = Worst(xv, yv)
        model.fit(x, y, epochs=4, batch_size=64, validation_data=(xv, yv), verbose=0, callbacks=[watch])
        model.set_weights(watch.best[1])
        answers.append(np.asarray(model(xt, training=False))[:, 0])
        print(f"member {k}: val {watch.best[0]:.4f} worst {watch.rows[-1]:.3f}")
        del model
        gc.collect()
    answers = np.stack(answers)
    print(f"committee rmse {np.sqrt(np.mean((answers.mean(0) - yt) ** 2)):.4f} spread {answers.std(0).mean():.4f}")


if __name__ == "__main__":
    main()
