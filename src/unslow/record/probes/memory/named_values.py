"""The names of the user's program and what they hold, read without running any of its code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType, ModuleType

from unslow.record.engine.foreign import Foreign
from unslow.record.engine.frames import local_names
from unslow.record.engine.recorder import Recorder
from unslow.record.engine.safe_inspection import module_file, module_names

Scope = tuple[str, str]  # file and function
Named = tuple[Scope, str, Foreign]  # where a name is bound, the name, its value
_FRAMES = 12
_WITHOUT_ATTRIBUTES = ("builtins", "abc", "typing", "collections.abc")  # modules of base classes


class NamedValues:
    """Locals of the user's frames on the stack, then globals of the user's modules."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._modules: list[str] = []
        self._known = (0, 0)  # modules, and files told apart, when the user's were last searched

    def of(self, frame: FrameType | None) -> Iterator[Named]:
        seen: dict[str, dict[str, Foreign]] = {}
        for (file, _, function), held in self._recorder.user.frames(frame, _FRAMES):
            seen[file] = held.f_globals
            self._recorder.keep_source(file)
            for name, value in local_names(held):
                yield (file, function), name, value
        for file, names in seen.items():
            yield from _globals(file, names)
        for module in self._user_modules():  # the search may take as long as all the rest
            if module_file(module) not in seen:
                yield from _globals(module_file(module), module_names(module))

    def is_users(self, value: object) -> bool:
        """Whether an object's class is the user's own: its attributes are theirs to fill."""
        return self._made_by_user(type(value))

    def is_wholly_users(self, value: Foreign) -> bool:
        """Whether nobody else's class fills attributes of an object, private ones included."""
        return all(
            base.__module__ in _WITHOUT_ATTRIBUTES or self._made_by_user(base)
            for base in type(value).__mro__
        )

    def _made_by_user(self, kind: type) -> bool:
        name = kind.__module__
        if name == "__main__":
            return True
        file = module_file(sys.modules.get(name)) if type(name) is str else ""
        return bool(file) and self._recorder.user.has_seen(file)

    def _user_modules(self) -> list[ModuleType]:
        """There are thousands of other modules, so this searches only after some were added."""
        user = self._recorder.user
        known = (len(sys.modules), user.files)
        if known != self._known:
            self._known = known
            modules = list(sys.modules.items())
            self._modules = [name for name, each in modules if user.has_seen(module_file(each))]
        return [sys.modules[name] for name in self._modules if name in sys.modules]


def _globals(file: str, names: dict[str, Foreign]) -> Iterator[Named]:
    for name, value in list(names.items()):
        if not name.startswith("__"):
            yield (file, "<module>"), name, value
