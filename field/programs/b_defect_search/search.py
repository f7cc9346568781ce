"""Learning-rate / batch-size search for the weld defect classifier."""

import dataclasses
import itertools

import numpy as np
from tensorflow import keras


@dataclasses.dataclass(frozen=True)
class Trial:
    lr: float
    batch: int


def welds(n=512, width=1600, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, width)).astype("float32")
    y = (x[:, :40].sum(1) > 0).astype("int32")
    return x, y


def build(width):
    return keras.Sequential(
        [
            keras.Input((width,)),
            keras.layers.Dense(1536, activation="relu"),
            keras.layers.Dense(1024, activation="relu"),
            keras.layers.Dense(2),
        ]
    )


def run_trial(trial, x, y):
    keras.utils.set_random_seed(1)
    model = build(x.shape[1])
    model.compile(
        keras.optimizers.SGD(trial.lr, momentum=0.9),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    model.fit(x[:384], y[:384], batch_size=trial.batch, epochs=2, verbose=0)
    loss, acc = model.evaluate(x[384:], y[384:], batch_size=128, verbose=0)
    return acc


def main():
    x, y = welds()
    rates = [1e-3, 3e-3, 1e-2, 3e-2, 0.1]
    grid = [Trial(lr, batch) for lr, batch in itertools.product(rates, [64, 128])]
    scores = {}
    for trial in grid:
        scores[trial] = run_trial(trial, x, y)
        print(trial, f"{scores[trial]:.3f}")
    best = max(scores, key=scores.get)
    print("best", best)


if __name__ == "__main__":
    main()
