"""Random search over architectures. Every trial is a different network, so it is built from scratch."""
import random
from dataclasses import asdict, dataclass

import numpy as np
import keras
from keras import layers


@dataclass(frozen=True)
class Trial:
    depth: int
    width: int
    activation: str
    dropout: float


def draw(rng):
    return Trial(rng.choice([2, 3]), rng.choice([384, 512]), rng.choice(["relu", "gelu"]), rng.choice([0.0, 0.2]))


def build(t, features):
    model = keras.Sequential([layers.Input((features,))], name=f"d{t.depth}w{t.width}")
    for _ in range(t.depth):
        model.add(layers.Dense(t.width, activation=t.activation))
        if t.dropout:
            model.add(layers.Dropout(t.dropout))
    model.add(layers.Dense(1))
    model.compile("adam", "mse")
    return model


def data(n=12000, features=128):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, features)).astype("float32")
    y = np.tanh(x[:, :8].sum(1)) + 0.1 * rng.normal(size=n)
    return x, y.astype("float32")


def main(trials=3, epochs=3):
    rng = random.Random(40)
    x, y = data()
    board = []
    for n in range(trials):
        keras.utils.clear_session()
        t = draw(rng)
        model = build(t, x.shape[1])
        history = model.fit(x, y, batch_size=256, epochs=epochs, validation_split=0.2, verbose=0)
        board.append((history.history["val_loss"][-1], t))
        print(f"trial {n}: val mse {board[-1][0]:.4f}", asdict(t))
        del model
    print("best", min(board, key=lambda b: b[0])[1])


if __name__ == "__main__":
    main()
