import numpy as np
import tensorflow as tf


class Panel:
    """Average opinion of the models of a cross validation."""

    def __init__(self, paths):
        self.paths = list(paths)

    def members(self):
        for path in self.paths:
            yield tf.keras.models.load_model(path, compile=False)

    def score(self, table):
        opinions = [member.predict_on_batch(table)[:, 0] for member in self.members()]
        opinions = np.stack(opinions)
        return opinions.mean(axis=0), opinions.std(axis=0)
