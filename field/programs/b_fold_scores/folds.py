"""Three-fold cross-validation of a credit model."""
import numpy as np
import tensorflow as tf


def make_model(n_features):
    model = tf.keras.Sequential([
        tf.keras.Input((n_features,)),
        tf.keras.layers.Dense(768, activation="relu"),
        tf.keras.layers.Dense(768, activation="relu"),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ])
    model.compile("sgd", "binary_crossentropy", metrics=["accuracy"])
    return model


def folds(n, k, seed=0):
    order = np.random.default_rng(seed).permutation(n)
    parts = np.array_split(order, k)
    for i in range(k):
        yield np.concatenate(parts[:i] + parts[i + 1:]), parts[i]


rng = np.random.default_rng(3)
X = rng.normal(size=(9000, 60)).astype("float32")
Y = (X[:, :8].sum(1) + rng.normal(size=9000) > 0).astype("float32")

scores = []
for number, (train, test) in enumerate(folds(len(X), 3)):
    tf.keras.utils.set_random_seed(number)
    model = make_model(X.shape[1])
    model.fit(X[train], Y[train], batch_size=100, epochs=3, verbose=0)
    loss, acc = model.evaluate(X[test], Y[test], batch_size=500, verbose=0)
    scores.append(acc)
    print(f"fold {number}: {acc:.3f}")
print(f"mean {np.mean(scores):.3f} +- {np.std(scores):.3f}")
