"""Every kind of fact there is: the modules of this package, imported."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from unslow import facts
from unslow.facts.schema import KINDS, Fact


def all_kinds() -> dict[str, type[Fact]]:
    """Each kind by its name in the file. A recorded process imports only what its probes need."""
    _import_all()
    return KINDS


@cache
def _import_all() -> None:
    for module in pkgutil.iter_modules(facts.__path__):
        importlib.import_module(f"{facts.__name__}.{module.name}")
