import json

import tensorflow as tf

from yields.averaging import TailAverage
from yields.fields import make_fields

CONFIG = {"epochs": 8, "average_from": 5, "batch": 128, "width": 640, "lr": 5e-4}


def network(n_inputs, width, lr):
    model = tf.keras.Sequential([tf.keras.layers.Input((n_inputs,))], name="yield_net")
    for _ in range(3):
        model.add(tf.keras.layers.Dense(width, activation="swish"))
        model.add(tf.keras.layers.Dropout(0.1))
    model.add(tf.keras.layers.Dense(1))
    model.compile(tf.keras.optimizers.Adam(lr), "mse", metrics=["mae"])
    return model


if __name__ == "__main__":
    print(json.dumps(CONFIG))
    tf.keras.utils.set_random_seed(77)
    x, y = make_fields()
    split = len(x) - 1024
    model = network(x.shape[1], CONFIG["width"], CONFIG["lr"])
    model.fit(x[:split], y[:split], batch_size=CONFIG["batch"], epochs=CONFIG["epochs"], verbose=2,
              callbacks=[TailAverage(CONFIG["average_from"])])
    print("held out:", model.evaluate(x[split:], y[split:], verbose=0))
