"""How wide must the grade predictor be? Trains one residual network per width and compares them on held-out students."""
import gc

import keras
import numpy as np
from keras import layers, ops

WIDTHS, EPOCHS, BATCH = (256, 384, 448), 3, 256


def students(n=12000, features=40, seed=19):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, features)).astype("float32")
    hidden = np.tanh(x @ rng.standard_normal((features, 10)))
    y = hidden @ rng.standard_normal((10, 1)) + 0.3 * rng.standard_normal((n, 1))
    return x, y.astype("float32")


class ResidualBlock(layers.Layer):
    def __init__(self, units, **kw):
        super().__init__(**kw)
        self.inner = layers.Dense(units * 2, activation="gelu")
        self.outer = layers.Dense(units)
        self.norm = layers.LayerNormalization()

    def call(self, x):
        return x + self.outer(self.inner(self.norm(x)))


def network(features, units):
    inputs = keras.Input((features,))
    h = layers.Dense(units)(inputs)
    for _ in range(2):
        h = ResidualBlock(units)(h)
    return keras.Model(inputs, layers.Dense(1)(h))


class BestWeights(keras.callbacks.Callback):
    """Keeps the weights of the epoch with the lowest validation error."""

    def on_train_begin(self, logs=None):
        self.best, self.weights = np.inf, None

    def on_epoch_end(self, epoch, logs=None):
        if logs["val_loss"] < self.best:
            self.best, self.weights = logs["val_loss"], self.model.get_weights()

    def on_train_end(self, logs=None):
        self.model.set_weights(self.weights)


def r2(y, p):
    return float(1 - ops.sum((y - p) ** 2) / ops.sum((y - ops.mean(y)) ** 2))


x, y = students()
order = np.random.default_rng(0).permutation(len(x))
held, rest = order[:2400], order[2400:]
mean, std = x[rest].mean(0), x[rest].std(0)
guesses, scores = {}, {}
for units in WIDTHS:
    keras.backend.clear_session()
    gc.collect()
    keras.utils.set_random_seed(100)
    model = network(x.shape[1], units)
    model.compile(optimizer=keras.optimizers.AdamW(1e-3), loss="mse")
    model.fit((x[rest] - mean) / std, y[rest], batch_size=BATCH, epochs=EPOCHS, verbose=0,
              validation_data=((x[held] - mean) / std, y[held]), callbacks=[BestWeights()])
    guesses[units] = model.predict((x[held] - mean) / std, batch_size=800, verbose=0)
    scores[units] = r2(y[held], guesses[units])
    print("width %d: %d weights, R2 %.4f" % (units, model.count_params(), scores[units]))
print("best width", max(scores, key=scores.get), "ensemble %.4f" % r2(y[held], np.mean(list(guesses.values()), 0)))
