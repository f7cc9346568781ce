"""unslow finds out why a TensorFlow training is slow, writes the fix and proves it.

PYTEST_DONT_REWRITE: a recorded pytest would warn that it cannot, since we are imported already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unslow import record as record
    from unslow.api import why as why
    from unslow.model import Diagnosis as Diagnosis
    from unslow.model import Run as Run
    from unslow.notebook import load_ipython_extension as load_ipython_extension
    from unslow.notebook import unload_ipython_extension as unload_ipython_extension

__version__ = "0.1.0"
__all__ = [
    "Diagnosis",
    "Run",
    "__version__",
    "load_ipython_extension",
    "record",
    "unload_ipython_extension",
    "why",
]

# The user's process loads this module too, so nothing is imported before it is needed.
_WHERE = {
    "Run": "unslow.model",
    "Diagnosis": "unslow.model",
    "load_ipython_extension": "unslow.notebook",
    "unload_ipython_extension": "unslow.notebook",
    "why": "unslow.api",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name == "record":  # a package that can be called
        return importlib.import_module("unslow.record")
    if name not in _WHERE:
        raise AttributeError(f"module 'unslow' has no attribute {name!r}")
    return getattr(importlib.import_module(_WHERE[name]), name)
