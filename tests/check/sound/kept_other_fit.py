# ruff: noqa
# expect: nothing

import keras
from sklearn.linear_model import SGDClassifier


def train(estimator, x, y):
    estimator.fit(x, y, workers=4)
    estimator.fit_generator(x)


SGDClassifier().fit([[1]], [1])
train(SGDClassifier(), [[1]], [1])
keras.utils.set_random_seed(0)
