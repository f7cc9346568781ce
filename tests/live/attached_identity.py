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

_KEEPS_NO_DICT = 1 << 4  # in the flags of a class: Py_TPFLAGS_MANAGED_DICT
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


def objects_by_dict() -> dict[int, tuple[type, bool]]:
    """The class of each object whose attributes Python keeps without a dict until somebody reads
    its `__dict__`, and whether it has one: then every access takes longer, on 3.11 and 3.12."""
    found = {}
    for value in gc.get_objects() if (3, 11) <= sys.version_info < (3, 13) else ():
        kind = type(value)
        if kind.__flags__ & _KEEPS_NO_DICT:
            parts = gc.get_referents(value)
            place = next((at for at, part in enumerate(parts) if part is kind), 0)
            last = parts[place - 1] if place else None
            found[id(value)] = (kind, type(last) is dict and _is_of(last, value))
    return found


def _is_of(last: dict[Any, Any], value: object) -> bool:
    """Whether the last thing that an object refers to is its own dict."""
    name = next(iter(last), None)
    try:
        return type(name) is str and object.__getattribute__(value, name) is last[name]
    except AttributeError:
        return False


def got_dicts(before: dict[int, tuple[type, bool]]) -> list[str]:
    """The classes of objects that have got a dict since."""
    after = objects_by_dict()
    alike = {key for key in before.keys() & after.keys() if before[key][0] is after[key][0]}
    return sorted({str(after[key][0]) for key in alike if after[key][1] and not before[key][1]})


def changed(before: dict[str, int], after: dict[str, int]) -> list[str]:
    both = before.keys() & after.keys()
    return sorted(name for name in both if before[name] != after[name])
