"""Learns to add the digits of a number. Two examples per update, as in the course notes."""
import numpy as np
from tensorflow import keras

BATCH_SIZE = 2
DIGITS = 6


def one_hot_digits(numbers):
    digits = np.array([[int(c) for c in f"{n:0{DIGITS}d}"] for n in numbers])
    return np.eye(10, dtype="float32")[digits].reshape(len(numbers), -1), digits.sum(1)


def get_model():
    model = keras.Sequential()
    model.add(keras.Input((DIGITS * 10,)))
    model.add(keras.layers.Dense(48, activation="relu"))
    model.add(keras.layers.Dense(48, activation="relu"))
    model.add(keras.layers.Dense(1))
    model.compile(loss="mse", optimizer=keras.optimizers.SGD(1e-3), metrics=["mae"])
    return model


if __name__ == "__main__":
    keras.utils.set_random_seed(99)
    numbers = np.random.randint(0, 10**DIGITS, 4400)
    x, y = one_hot_digits(numbers)
    y = y.astype("float32") / 10
    model = get_model()
    model.fit(x[:4000], y[:4000], batch_size=BATCH_SIZE, epochs=2, verbose=2)
    print(model.evaluate(x[4000:], y[4000:], verbose=0))
