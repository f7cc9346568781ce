# ruff: noqa
# expect: nothing

import keras
import pytest


def test_gone():
    with pytest.raises(ValueError):
        keras.optimizers.Adam(lr=0.1)
