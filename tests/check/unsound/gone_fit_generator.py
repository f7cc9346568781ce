# ruff: noqa
# expect: removed-argument 15

import keras


def build():
    inputs = keras.Input((4,))
    return keras.Model(inputs, keras.layers.Dense(1)(inputs))


def main(generator):
    model = build()
    model.compile("adam", "mse")
    model.fit_generator(generator, epochs=3)
