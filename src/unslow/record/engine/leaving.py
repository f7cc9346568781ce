"""Takes unslow itself out of a process that goes on: its modules, and all that they made.

What nobody holds any more is freed at once. What the program still holds stays and works, such as
a wrapper in the middle of a call of `fit()`, until it is let go.

Functions, classes and recordings refer to themselves in circles, which only the garbage collector
can free. By the time we leave they are among its oldest objects, and to collect those takes 190 ms
with TensorFlow and Keras. So they are put among its youngest again, whose collection goes through
them and little else.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import sys
from collections import deque
from collections.abc import Callable, Iterable
from types import (
    AsyncGeneratorType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    ModuleType,
)

from unslow.record.engine.foreign import Foreign
from unslow.record.engine.safe_inspection import module_names

# Modules that the interpreter refers to for ever: they are small, refer to no other module of ours,
# and serve the next recording of the process.
LASTING = frozenset(("unslow.record.engine.forks", "unslow.record.engine.pending_calls"))
_MOST_OBJECTS = 100_000  # ten times as many as there are
_MOST_ELEMENTS = 10_000  # of one container of ours; the program's may be of any size
_AT_ONCE = 200  # objects that are moved without a rest: 0.1 ms
_FOREIGN = (FrameType, CodeType, GeneratorType, CoroutineType, AsyncGeneratorType)
_SIZED = frozenset((list, tuple, dict, set, frozenset, deque))
# Whose classes hold no more than they were given: what they hold is ours where they are.
_CARRIERS = frozenset(
    (
        *("builtins", "collections", "ctypes", "dataclasses", "enum", "functools", "itertools"),
        *("operator", "threading", "types", "typing", "weakref", "_collections", "_ctypes"),
        *("_frozen_importlib", "_frozen_importlib_external", "_thread", "_weakref"),
    )
)
_members: Callable[[type], dict[str, Foreign]] = type.__dict__["__dict__"].__get__
_Void = ctypes.PYFUNCTYPE(None, ctypes.py_object)
# Parts of Python's stable C interface.
_untrack = _Void(("PyObject_GC_UnTrack", ctypes.pythonapi))
_track = _Void(("PyObject_GC_Track", ctypes.pythonapi))


def is_possible() -> bool:
    """Without a lock of the interpreter's, a thread could meet an object that is being moved."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def leave(roots: Iterable[object], rest: Callable[[], None]) -> None:
    """Forget every module of ours; the next collection of the young objects frees them.

    `roots`: objects of ours that may be held by nobody but themselves. `rest` lets the program go
    on.
    """
    if not is_possible():
        return
    names = [name for name in list(sys.modules) if _is_ours(name) and name not in LASTING]
    modules = [sys.modules[name] for name in names]
    for name in LASTING & sys.modules.keys():
        vars(sys.modules[name]).get("in_child", {}).clear()
    ours = _reachable([*modules, *roots], modules, rest)
    _forget_folders(modules)
    for name in names:
        sys.modules.pop(name, None)
    rest()
    while ours:
        _make_young(ours[-_AT_ONCE:])
        del ours[-_AT_ONCE:]
        rest()


def _is_ours(name: object) -> bool:
    return type(name) is str and (name == "unslow" or name.startswith("unslow."))


def _forget_folders(modules: Iterable[ModuleType]) -> None:
    """What the import system noted of the folders of our packages."""
    for module in modules:
        for folder in vars(module).get("__path__", ()):
            sys.path_importer_cache.pop(folder, None)


def _reachable(
    roots: Iterable[object], modules: Iterable[ModuleType], rest: Callable[[], None]
) -> list[object]:
    """What the collector knows of the objects of ours, and of a few that are not: no harm is done
    by having these among the young."""
    names = {id(vars(module)) for module in modules}  # where our functions find theirs
    seen: set[int] = set()
    found: list[object] = []
    waiting = deque(roots)
    while waiting and len(found) < _MOST_OBJECTS:
        value = waiting.popleft()
        if id(value) in seen or not gc.is_tracked(value) or not _belongs_to_us(value, names):
            continue
        seen.add(id(value))
        found.append(value)
        waiting.extend(gc.get_referents(value))
        rest()
    return found


def _belongs_to_us(value: object, names: set[int]) -> bool:
    kind = type(value)
    if kind is FunctionType:
        return id(value.__globals__) in names  # type: ignore[attr-defined]
    if type in kind.__mro__:
        return _is_ours(_members(value).get("__module__"))  # type: ignore[arg-type]
    if ModuleType in kind.__mro__:
        name = module_names(value).get("__name__")
        return _is_ours(name) and name not in LASTING
    if kind in _FOREIGN or (kind in _SIZED and len(value) > _MOST_ELEMENTS):  # type: ignore[arg-type]
        return False
    made_in = _module_of(kind)
    return _is_ours(made_in) or made_in in _CARRIERS


def _module_of(kind: type) -> object:
    return _members(kind).get("__module__", "builtins")


def _make_young(objects: list[object]) -> None:
    """In one call of C code, so that no other thread meets an object that is not tracked."""
    tracked = [each for each in objects if gc.is_tracked(each)]
    deque(itertools.chain(map(_untrack, tracked), map(_track, tracked)), maxlen=0)
