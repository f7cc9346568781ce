"""What must be the same after a program was attached to: its numbers, and every attribute that may be wrapped.

Imported by the programs that the tests attach to, which know nothing of unslow.
"""

from __future__ import annotations

import gc
import hashlib
import json
import sys
import threading
import time
import traceback
from typing import Any

import numpy as np

LIBRARIES = ("tensorflow", "keras", "tf_keras")


def digest(values: Any) -> str:
    whole = hashlib.sha256()
    for value in values:
        whole.update(np.asarray(value).tobytes())
    return whole.hexdigest()


def attributes() -> dict[str, int]:
    """The identity of every attribute of the libraries and of what else is wrapped."""
    found: dict[str, int] = {}
    watched = [gc, sys, threading, time, traceback, json]
    modules = [one for name, one in list(sys.modules.items()) if name.split(".")[0] in LIBRARIES]
    for module in [*modules, *watched]:
        for name, value in list(vars(module).items()):
            found[f"{module.__name__}.{name}"] = id(value)
            if isinstance(value, type):
                for inner, held in list(vars(value).items()):
                    found[f"{value.__module__}.{value.__qualname__}.{inner}"] = id(held)
    found["sys.excepthook"] = id(sys.excepthook)
    found["gc.callbacks"] = len(gc.callbacks)
    found["sys.meta_path"] = len(sys.meta_path)
    return found


def changed(before: dict[str, int], after: dict[str, int]) -> list[str]:
    both = before.keys() & after.keys()
    return sorted(name for name in both if before[name] != after[name])
