"""Three small base learners on three folds, stacked. Histories are kept for the report."""
import numpy as np
import tensorflow as tf

tf.get_logger().setLevel("ERROR")


def make_data(n=24000, f=40):
    rng = np.random.RandomState(1)
    X = rng.randn(n, f).astype("float32")
    y = (np.sin(X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype("float32")
    return X, y


def learner(f, units):
    m = tf.keras.Sequential([tf.keras.Input((f,)),
                             tf.keras.layers.Dense(units, activation="relu"),
                             tf.keras.layers.Dense(units, activation="relu"),
                             tf.keras.layers.Dense(1, activation="sigmoid")])
    m.compile("adam", "binary_crossentropy")
    return m


X, y = make_data()
folds = np.arange(len(X)) % 3
oof = np.zeros(len(X), "float32")
histories = {}
for k in range(3):
    tr, va = folds != k, folds == k
    model = learner(X.shape[1], 512)
    histories[k] = model.fit(X[tr], y[tr], batch_size=512, epochs=3, verbose=0)
    oof[va] = model.predict(X[va], batch_size=2048, verbose=0)[:, 0]
    print("fold", k, "loss %.4f" % histories[k].history["loss"][-1])
print("oof accuracy %.3f" % ((oof > 0.5) == (y > 0.5)).mean())
for k, h in histories.items():
    print(k, ["%.3f" % v for v in h.history["loss"]])
