"""Four-fold cross-validation of a tabular network."""
import keras
import numpy as np
from keras import layers


def table(n=6000, columns=256):
    g = np.random.default_rng(70)
    x = g.standard_normal((n, columns), dtype=np.float32)
    y = (x[:, :8].prod(axis=1) * 3 + x[:, 8] - x[:, 9] > 0).astype(np.float32)
    return x, y


def network(columns, width=1024):
    return keras.Sequential([
        keras.Input((columns,)),
        layers.Dense(width, activation="relu"),
        layers.Dropout(0.2),
        layers.Dense(width, activation="relu"),
        layers.Dropout(0.2),
        layers.Dense(width // 2, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ])


class CrossValidation:
    def __init__(self, model, folds=4, epochs=2, batch=128):
        self.model = model
        self.fresh = model.get_weights()
        self.folds, self.epochs, self.batch = folds, epochs, batch
        model.compile(optimizer=keras.optimizers.SGD(0.05), loss="binary_crossentropy", metrics=["accuracy"])

    def run(self, x, y):
        parts = np.array_split(np.random.default_rng(1).permutation(len(x)), self.folds)
        for k in range(self.folds):
            held = parts[k]
            rest = np.concatenate(parts[:k] + parts[k + 1:])
            self.model.set_weights(self.fresh)
            self.model.fit(x[rest], y[rest], batch_size=self.batch, epochs=self.epochs, verbose=0)
            p = self.model.predict(x[held], batch_size=500, verbose=0)[:, 0]
            yield k, float(((p > 0.5) == y[held]).mean())


if __name__ == "__main__":
    keras.utils.set_random_seed(70)
    x, y = table()
    scores = []
    for k, score in CrossValidation(network(x.shape[1])).run(x, y):
        scores.append(score)
        print(f"fold {k}: accuracy {score:.4f}")
    print(f"mean {np.mean(scores):.4f} +- {np.std(scores):.4f}")
