import numpy as np
from tensorflow import keras


class HeadlineWatch(keras.callbacks.Callback):
    """Follows how the probability of a few known headlines moves while training."""

    def __init__(self, tokens, names):
        super().__init__()
        self.tokens = tokens
        self.names = names
        self.track = {n: [] for n in names}

    def on_train_batch_end(self, batch, logs=None):
        probs = self.model.predict(self.tokens, verbose=0)
        for name, p in zip(self.names, probs):
            self.track[name].append(int(np.argmax(p)))

    def on_epoch_end(self, epoch, logs=None):
        for name, values in self.track.items():
            print(f"  {name:<10} -> {values[-1]}")
