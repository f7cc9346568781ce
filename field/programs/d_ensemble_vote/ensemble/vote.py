import numpy as np
from keras.models import load_model


class VotingEnsemble:
    """Soft voting; members live on disk."""

    def __init__(self, paths, weights=None):
        self.paths = paths
        self.weights = weights or [1.0] * len(paths)

    def predict_proba(self, rows):
        total = 0.0
        for path, weight in zip(self.paths, self.weights):
            net = load_model(path, compile=False)
            total = total + weight * net.predict(rows, verbose=0)
        return total / sum(self.weights)

    def predict(self, rows):
        return np.argmax(self.predict_proba(rows), axis=1)
