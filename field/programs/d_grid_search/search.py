# Small grid search over learning rate and width for the fraud model.
import itertools
import json

import numpy as np
import tensorflow as tf
from tensorflow import keras

GRID = {"lr": [1e-3, 3e-3, 1e-2], "units": [48]}
EPOCHS = 3
BATCH = 64

rng = np.random.default_rng(17)
X = rng.normal(size=(2640, 20)).astype("float32")
Y = ((X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=2640)) > 0.8).astype("float32")
x_train, y_train, x_val, y_val = X[:640], Y[:640], X[640:], Y[640:]


def build(lr, units):
    model = keras.Sequential([
        keras.layers.Input((20,)),
        keras.layers.Dense(units, activation="relu"),
        keras.layers.Dense(units, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ])
    model.compile(keras.optimizers.Adam(lr), "binary_crossentropy", metrics=["accuracy"])
    return model


def f1_score(truth, probability):
    truth = tf.constant(truth)
    guess = tf.cast(probability > 0.5, tf.float32)
    tp = fp = fn = 0
    for t, g in zip(truth, guess):
        if t == 1.0 and g == 1.0:
            tp += 1
        elif t == 0.0 and g == 1.0:
            fp += 1
        elif t == 1.0 and g == 0.0:
            fn += 1
    return 2 * tp / max(1, 2 * tp + fp + fn)


def trial(lr, units):
    keras.utils.set_random_seed(0)
    model = build(lr, units)
    curve = []
    for epoch in range(EPOCHS):
        losses = []
        for start in range(0, len(x_train), BATCH):
            part = slice(start, start + BATCH)
            history = model.fit(x_train[part], y_train[part], batch_size=BATCH, verbose=0)
            losses.append(history.history["loss"][0])
        curve.append(np.mean(losses))
    val_loss, val_acc = model.evaluate(x_val, y_val, batch_size=512, verbose=0)
    outcome = {"loss": curve[-1], "drop": curve[0] - curve[-1], "val_loss": val_loss, "val_acc": val_acc}
    outcome["f1"] = f1_score(y_val, model.predict_on_batch(x_val)[:, 0])
    return outcome


results = []
for values in itertools.product(*GRID.values()):
    params = dict(zip(GRID, values))
    outcome = trial(**params)
    results.append({**params, **outcome})
    print(json.dumps({k: round(float(v), 4) for k, v in results[-1].items()}))
print("best:", min(results, key=lambda r: r["val_loss"]))
