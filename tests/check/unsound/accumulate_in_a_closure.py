# ruff: noqa
# expect: accumulation-reset 17

from tensorflow import GradientTape, reduce_mean, square, zeros_like
from tensorflow.keras.optimizers import Adagrad


def make_loop(model, n):
    optimizer = Adagrad()
    weights = model.trainable_weights

    def loop(pairs):
        for j, (x, y) in enumerate(pairs):
            with GradientTape() as tape:
                error = reduce_mean(square(model(x) - y))
            now = tape.gradient(error, weights)
            pile = list(map(zeros_like, now))
            pile = [p + g for p, g in zip(pile, now)]
            if not (j + 1) % n:
                scaled = [p / n for p in pile]
                optimizer.apply_gradients(zip(scaled, weights))

    return loop
