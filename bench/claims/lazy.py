"""TensorFlow, Keras and NumPy by their usual names, imported when first used: the list of claims needs none of them."""

from __future__ import annotations

import importlib
from typing import Any


class _Module:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


tf: Any = _Module("tensorflow")
tf1: Any = _Module("tensorflow.compat.v1")
keras: Any = _Module("keras")
np: Any = _Module("numpy")
