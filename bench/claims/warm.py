"""Imported by the server from which the sides are forked: TensorFlow and Keras, without the words they print."""

import contextlib
import os

with open(os.devnull, "w") as _nowhere:  # noqa: PTH123
    _words = os.dup(2)
    os.dup2(_nowhere.fileno(), 2)
    with contextlib.suppress(ImportError):
        import keras  # noqa: F401
        import tensorflow  # noqa: F401
    os.dup2(_words, 2)
    os.close(_words)
