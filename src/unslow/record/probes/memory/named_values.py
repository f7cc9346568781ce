"""The names of the user's program and what they hold, read without running any of its code."""

from __future__ import annotations

import itertools
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from types import FrameType, FunctionType, MethodType, ModuleType

from unslow.record.engine.foreign import Foreign
from unslow.record.engine.frames import local_names
from unslow.record.engine.own_attributes import attribute_values
from unslow.record.engine.recorder import Recorder
from unslow.record.engine.safe_inspection import (
    container_of,
    length,
    module_file,
    module_names,
    values,
)

Scope = tuple[str, str]  # file and function
Named = tuple[Scope, str, Foreign]  # where a name is bound, the name, its value
_FRAMES = 12
_OURS = "unslow"
_LIBRARY_FRAMES = 40  # between the running code and the user's: fit() has about ten
_MOST_BEHIND = 300  # values that are read behind them, about a microsecond each
_FEW = 20  # elements of a container that may be callbacks or layers
# From a local name of fit() to the user's: the list of callbacks, its callbacks, the functions that
# one of them was given.
_DEPTH = 3
_PLAIN = (str, bytes, int, float, complex, bool, type(None))
_WITHOUT_ATTRIBUTES = ("builtins", "abc", "typing", "collections.abc")  # modules of base classes


class NamedValues:
    """Locals of the user's frames on the stack, then globals of the user's modules.

    In between come the user's objects that only a library holds, as fit() does its callbacks.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._filled: dict[type, frozenset[str]] = {}  # attributes that the user's code names
        self._modules: list[str] = []
        self._known = (0, 0)  # modules, and known files, when the user's were last searched

    def of(self, frame: FrameType | None) -> Iterator[Named]:
        seen: dict[str, dict[str, Foreign]] = {}
        for (file, _, function), held in self._recorder.user.frames(frame, _FRAMES):
            seen[file] = held.f_globals
            self._recorder.keep_source(file)
            for name, value in local_names(held):
                yield (file, function), name, value
        for file, names in seen.items():
            yield from _globals(file, names)
        yield from self._held_by_libraries(frame)
        for module in self._user_modules():  # the search may take as long as all the rest
            if module_file(module) not in seen:
                yield from _globals(module_file(module), module_names(module))

    def is_users(self, value: object) -> bool:
        """Whether an object's class is the user's own: its attributes are theirs to fill."""
        return self._made_by_user(type(value))

    def may_fill(self, value: Foreign, attribute: str) -> bool:
        """Whether the user's code fills an attribute; of a private one, a base class may."""
        if not attribute.startswith("_"):
            return True
        kind = type(value)
        known = self._filled.get(kind)
        if known is None:
            known = self._filled[kind] = frozenset(self._attributes_named(kind))
        return attribute in known or self._is_wholly_users(kind)

    def _is_wholly_users(self, kind: Foreign) -> bool:
        return all(
            base.__module__ in _WITHOUT_ATTRIBUTES or self._made_by_user(base)
            for base in kind.__mro__
        )

    def _attributes_named(self, kind: Foreign) -> Iterator[str]:
        """The names in the methods of the user's own classes."""
        for base in kind.__mro__:
            methods = vars(base).values() if self._made_by_user(base) else ()
            for method in methods:
                if type(method) is FunctionType:
                    yield from method.__code__.co_names

    def _made_by_user(self, kind: type) -> bool:
        name = kind.__module__
        if name == "__main__":
            return True
        file = module_file(sys.modules.get(name)) if type(name) is str else ""
        return bool(file) and self._recorder.user.owns_file(file)

    def _held_by_libraries(self, frame: FrameType | None) -> Iterator[Named]:
        """The user's objects and functions that names of a library lead to, one of each kind.

        Two of one class would be one name, whose length seems to change.
        """
        seen: set[object] = set()
        for value in self._behind(_locals_of(self._library_frames(frame))):
            code = value.__code__ if type(value) is FunctionType else None
            kind = type(value) if code is None else code
            if kind in seen:
                continue
            seen.add(kind)
            if code is not None:
                scope, name = (code.co_filename, code.co_name), code.co_name
            else:
                scope, name = (module_file(sys.modules.get(type(value).__module__)), ""), "self"
            self._recorder.keep_source(scope[0])
            yield scope, name, value

    def _library_frames(self, frame: FrameType | None) -> Iterator[FrameType]:
        for _ in range(_LIBRARY_FRAMES):
            if frame is None:
                return
            package = str(frame.f_globals.get("__name__")).partition(".")[0]
            if package != _OURS and not self._recorder.user.owns(frame.f_code):
                yield frame
            frame = frame.f_back

    def _behind(self, start: Iterable[Foreign]) -> Iterator[Foreign]:
        """The user's objects and functions behind some values, the nearest first."""
        pending = deque((value, 0) for value in itertools.islice(start, _MOST_BEHIND))
        seen: set[int] = set()
        while pending and len(seen) < _MOST_BEHIND:
            value, depth = pending.popleft()
            if id(value) in seen or type(value) in _PLAIN:
                continue
            seen.add(id(value))
            if self._is_users_own(value):
                yield value
            elif depth < _DEPTH:
                pending.extend((inner, depth + 1) for inner in _inside(value))

    def _is_users_own(self, value: Foreign) -> bool:
        if type(value) is FunctionType:
            return self._recorder.user.owns(value.__code__)
        return type not in type(value).__mro__ and self.is_users(value)

    def _user_modules(self) -> list[ModuleType]:
        """There are thousands of other modules, so this searches only after some were added."""
        user = self._recorder.user
        known = (len(sys.modules), user.files)
        if known != self._known:
            self._known = known
            modules = list(sys.modules.items())
            self._modules = [name for name, each in modules if user.has_seen(module_file(each))]
        return [sys.modules[name] for name in self._modules if name in sys.modules]


def _locals_of(frames: Iterable[FrameType]) -> Iterator[Foreign]:
    for frame in frames:
        for _, value in local_names(frame):
            yield value


def _inside(value: Foreign) -> Iterable[Foreign]:
    """What a small container of a library's holds, or an object has as attributes."""
    kind = type(value)
    if kind is MethodType:
        return (value.__self__, value.__func__)
    if tuple in kind.__mro__:
        return tuple.__iter__(value) if tuple.__len__(value) <= _FEW else ()
    if container_of(value) is not None:
        return values(value, _FEW) if length(value) <= _FEW else ()
    if kind is FunctionType or ModuleType in kind.__mro__ or type in kind.__mro__:
        return ()
    return attribute_values(value)


def _globals(file: str, names: dict[str, Foreign]) -> Iterator[Named]:
    for name, value in list(names.items()):
        if not name.startswith("__"):
            yield (file, "<module>"), name, value
