import argparse

from tensorflow import keras

import pipeline


def click_model(width):
    inp = keras.Input((len(pipeline.FIELDS),), dtype="int64")
    h = keras.layers.Embedding(500, 8)(inp)
    h = keras.layers.Flatten()(h)
    h = keras.layers.Dense(width, activation="relu")(h)
    return keras.Model(inp, keras.layers.Dense(1)(h))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--rows", type=int, default=30000)
    p.add_argument("--batch", type=int, default=500)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--width", type=int, default=32)
    a = p.parse_args()
    files = pipeline.write_logs(a.rows)
    model = click_model(a.width)
    model.compile(
        "adam",
        keras.losses.BinaryCrossentropy(from_logits=True),
        metrics=[keras.metrics.AUC(from_logits=True)],
    )
    model.fit(pipeline.dataset(files, a.batch), epochs=a.epochs, verbose=2)
