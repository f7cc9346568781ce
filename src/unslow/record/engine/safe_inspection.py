"""Reads what the user's objects hold without running any code of their classes."""

from __future__ import annotations

import functools
import gc
import itertools
import sys
from collections import deque
from collections.abc import Iterable
from types import ModuleType

from unslow.record.engine.foreign import Foreign

CONTAINERS = (list, dict, set, deque)


def instances_of(kinds: Iterable[type], *generation: int) -> list[Foreign]:
    """All objects of exactly these classes that the collector knows, or those of one generation.

    In one call of C code, so that no other thread runs meanwhile: while somebody holds a tuple that
    another thread is still filling, tuple() fails there, which would end the program. Not by
    `gc.get_referrers`, which crashed for TensorFlow's tensors (2.21).
    """
    flattened = itertools.chain.from_iterable
    everything = itertools.starmap(gc.get_objects, [generation])  # one list, once it is asked for
    twice = flattened(map(itertools.repeat, everything, itertools.repeat(2)))
    types = map(functools.partial(map, type), twice)
    is_wanted = map(functools.partial(map, frozenset(kinds).__contains__), types)
    # The first copy of the list is what is chosen from, the second what chooses. Nothing that
    # existed when the list was made may hold it at the end, which `itertools.tee` would: they would
    # keep each other alive.
    return list(flattened(map(itertools.compress, twice, is_wanted)))


def container_of(value: object) -> Foreign:
    """The built-in class that makes an object a container; None for anything else."""
    return next((base for base in type(value).__mro__ if base in CONTAINERS), None)


def length(value: object) -> int:
    return int(container_of(value).__len__(value))


def values(value: Foreign, most: int) -> list[Foreign]:
    """The first of what a container holds."""
    base = container_of(value)
    held: Iterable[Foreign] = dict.values(value) if base is dict else base.__iter__(value)
    return list(itertools.islice(held, most))


def items(value: Foreign) -> list[tuple[Foreign, Foreign]]:
    return list(dict.items(value))


def latest(value: Foreign, most: int) -> list[Foreign]:
    """The last of what a container holds, where it has an order."""
    base = container_of(value)
    if base is dict:
        return [
            dict.__getitem__(value, key) for key in itertools.islice(dict.__reversed__(value), most)
        ]
    held: Iterable[Foreign] = base.__iter__(value) if base is set else base.__reversed__(value)
    return list(itertools.islice(held, most))


def array_of(value: object) -> tuple[int, tuple[int, ...], str, Foreign] | None:
    """Bytes, shape, dtype and base of a NumPy array; None for anything else."""
    numpy = sys.modules.get("numpy")
    kind = module_names(numpy).get("ndarray") if numpy is not None else None
    if kind is None or kind not in type(value).__mro__:
        return None
    read = type.__dict__["__dict__"].__get__(kind)
    return (
        int(read["nbytes"].__get__(value)),
        tuple(read["shape"].__get__(value)),
        str(read["dtype"].__get__(value)),
        read["base"].__get__(value),
    )


def is_tensor(value: object) -> bool:
    """An eager tensor of TensorFlow's own class."""
    kind = type(value)
    return kind.__name__ == "EagerTensor" and str(kind.__module__).startswith("tensorflow")


def module_names(module: object) -> dict[str, Foreign]:
    """The names of a module; a lazy one stays lazy."""
    found: dict[str, Foreign] = {}
    if ModuleType in type(module).__mro__:
        found = type.__dict__["__dict__"].__get__(ModuleType)["__dict__"].__get__(module)
    return found


def module_file(module: object) -> str:
    file = module_names(module).get("__file__")
    return file if type(file) is str else ""
