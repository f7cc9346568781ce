"""Goes through what a running program holds: from its frames and modules on, without running any of
its code.

Not by `gc.get_objects`: for the 300,000 objects of a program with Keras that is one call of 70 ms,
in which no other thread runs Python. What only TensorFlow's own tables hold is not found.
"""

from __future__ import annotations

import functools
import itertools
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MethodType,
    ModuleType,
)

from unslow.record.engine.foreign import Foreign
from unslow.record.engine.frames import UserCode, local_names
from unslow.record.engine.own_attributes import attribute, attribute_values
from unslow.record.engine.safe_inspection import (
    container_of,
    module_file,
    module_names,
    values,
)

_MOST_OBJECTS = 30_000  # a second of ours at most; a model of 100 layers has 10,000
_MOST_ELEMENTS = 200  # of one container: lists of models and functions are short
_MOST_FRAMES = 200  # of one thread
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type, ModuleType, CodeType)
_NO_PARTS = frozenset({*_PLAIN, BuiltinFunctionType})
# Objects of these packages hold graphs, or numbers, and none of what is searched for.
_LEAVES = (
    "tensorflow.python.framework",
    "tensorflow.python.ops",
    "tensorflow.python.eager",
    "tensorflow.core",
    "google.",
    "numpy",
)
POLYMORPHIC = "tensorflow.python.eager.polymorphic_function.polymorphic_function"

Parts = Callable[[Foreign], Iterable[Foreign]]


def held_by_program(user: UserCode) -> Iterator[Foreign]:
    """Values of the names in the frames of all other threads, then in the user's modules."""
    own = threading.get_ident()
    for thread, frame in list(sys._current_frames().items()):
        if thread != own:
            yield from _locals(frame)
    for module in list(sys.modules.values()):
        file = module_file(module)
        if module is sys.modules.get("__main__") or (file and user.owns_file(file)):
            yield from list(module_names(module).values())


def _locals(frame: FrameType | None) -> Iterator[Foreign]:
    for _ in range(_MOST_FRAMES):
        if frame is None:
            return
        for _, value in local_names(frame):
            yield value
        frame = frame.f_back


class Walk:
    """Breadth first, so that what is near to the program's own names comes first."""

    def __init__(self) -> None:
        self.complete = True  # False: there was more than we go through
        self._seen: set[int] = set()
        self._parts: dict[type, Parts] = {}

    def objects(self, roots: Iterable[Foreign]) -> Iterator[Foreign]:
        waiting: deque[Foreign] = deque(roots)
        while waiting:
            value = waiting.popleft()
            if type(value) in _NO_PARTS or id(value) in self._seen:
                continue
            if len(self._seen) >= _MOST_OBJECTS:
                self.complete = False
                return
            self._seen.add(id(value))
            yield value
            try:
                waiting.extend(self._parts_of(value))
            except Exception:  # noqa: BLE001 - another thread changed it in this moment
                continue

    def _parts_of(self, value: Foreign) -> Iterable[Foreign]:
        kind = type(value)
        parts = self._parts.get(kind)
        if parts is None:
            parts = self._parts[kind] = _way_to_parts(kind, value)
        return parts(value)


def _way_to_parts(kind: type, value: Foreign) -> Parts:
    """How to get at what objects of a class hold; found once for each class."""
    known = _KNOWN.get(kind)
    if known is not None:
        return known
    if container_of(value) is not None:
        return _elements_and_attributes
    if tuple in kind.__mro__:
        return _of_tuple
    name = kind.__module__ if type(kind.__module__) is str else ""
    if name == POLYMORPHIC:
        return _of_compiled
    if name.startswith(_LEAVES):
        return _nothing
    return attribute_values


def _nothing(value: Foreign) -> Iterable[Foreign]:
    return ()


def _of_compiled(value: Foreign) -> Iterable[Foreign]:
    """A tf.function: what its Python function holds; the private name was seen on 2.15 to 2.21."""
    return (attribute(value, "_python_function"),)


def _of_tuple(value: Foreign) -> Iterable[Foreign]:
    return list(itertools.islice(tuple.__iter__(value), _MOST_ELEMENTS))


def _of_function(value: FunctionType) -> Iterator[Foreign]:
    yield from list(value.__dict__.values())
    for cell in value.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # it is empty
            continue


def _of_method(value: MethodType) -> Iterable[Foreign]:
    return value.__self__, value.__func__


def _of_partial(value: functools.partial[Foreign]) -> Iterable[Foreign]:
    return value.func, *value.args, *value.keywords.values()


_KNOWN: dict[type, Parts] = {
    FunctionType: _of_function,
    MethodType: _of_method,
    functools.partial: _of_partial,
}


def _elements_and_attributes(value: Foreign) -> Iterable[Foreign]:
    return *values(value, _MOST_ELEMENTS), *attribute_values(value)
