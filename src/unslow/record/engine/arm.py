"""Arms each probe once the module it watches is imported, and puts everything back at exit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import NamedTuple

from unslow.record.engine.foreign import Foreign
from unslow.record.engine.live_objects import Living
from unslow.record.engine.probe import Probe
from unslow.record.engine.recorder import Recorder
from unslow.record.engine.safe_inspection import module_names


class _Wrapped(NamedTuple):
    """A function of a module and the wrapper in its place."""

    probe: Probe
    original: Foreign
    wrapper: Foreign


class Arming:
    """A finder that changes nothing about an import but what happens after it."""

    def __init__(self, recorder: Recorder, probes: Sequence[Probe]) -> None:
        self.recorder = recorder
        self.probes = list(probes)
        self._doors: dict[str, list[tuple[Probe, Callable[[ModuleType], None]]]] = {}
        self._finding: set[str] = set()
        for probe in self.probes:
            for module, door in probe.doors().items():
                self._doors.setdefault(module, []).append((probe, door))

    def install(self) -> None:
        sys.meta_path.insert(0, self)
        for name in list(self._doors):
            module = sys.modules.get(name)
            if module is not None and not getattr(
                getattr(module, "__spec__", None), "_initializing", False
            ):
                self.open(name, module)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in self._doors or name in self._finding:
            return None
        self._finding.add(name)
        try:
            spec = self._found(name, path, target)
        finally:
            self._finding.discard(name)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return None
        spec.loader = _Loader(spec.loader, self)  # type: ignore[assignment]
        return spec

    def _found(self, name: str, path: object, target: object) -> ModuleSpec | None:
        """What the finders behind this one find: those before it were asked already."""
        finders = list(sys.meta_path)
        own = next((place for place, finder in enumerate(finders) if finder is self), -1)
        for finder in finders[own + 1 :]:
            find = getattr(finder, "find_spec", None)
            if find is None:
                continue
            spec: ModuleSpec | None = find(name, path, target)
            if spec is not None:
                return spec
        return None

    def open(self, name: str, module: ModuleType) -> None:
        for probe, door in self._doors.pop(name, ()):
            if self.recorder.probes.get(probe.name, "").startswith("lost"):
                continue
            try:
                door(module)
                self.recorder.probes[probe.name] = "armed"
            except Exception as problem:  # noqa: BLE001 - the fence of a probe
                version = getattr(sys.modules.get("tensorflow"), "__version__", "")
                self.recorder.lost(
                    probe.name, f"{type(problem).__name__}: {problem} in {name} {version}".strip()
                )
                disarm(probe)
                self.recorder.signals.silence(probe.name)

    def inherit(self, living: Living) -> None:
        """Show every probe what was there before the recording began."""
        for probe in self.probes:
            if self.recorder.probes.get(probe.name) != "armed":
                continue
            with probe.fence:
                probe.inherit(living)

    def follow_aliases(self, rest: Callable[[], None]) -> None:
        """Wrap functions under the other names that modules imported them by before we came.

        `tf.summary.write` is such a name: a module of TensorFlow's interface holds the function
        itself. `rest` is called for each module.
        """
        wrapped = self._wrapped_functions()
        for module in list(sys.modules.values()):
            rest()
            for name, value in list(module_names(module).items()):
                found = wrapped.get(id(value))
                if found is not None and value is found.original:
                    found.probe.place(module, name, found.original, found.wrapper)

    def _wrapped_functions(self) -> dict[int, _Wrapped]:
        """Functions of modules by the identity of the original, each with its outermost wrapper."""
        originals: dict[tuple[int, str], Foreign] = {}
        found: dict[int, _Wrapped] = {}
        for probe in self.probes:
            for owner, attribute, held, placed in probe.replaced():
                if isinstance(owner, ModuleType):
                    original = originals.setdefault((id(owner), attribute), held)
                    found[id(original)] = _Wrapped(probe, original, placed)
        return found

    def uninstall(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for probe in reversed(self.probes):
            disarm(probe)


def disarm(probe: Probe) -> None:
    try:
        probe.disarm()
    except Exception as problem:  # noqa: BLE001 - the fence of a probe
        probe.recorder.lost(probe.name, f"could not be taken out: {problem}")


class _Loader:
    """The module's own loader, which calls `open()` after the import."""

    def __init__(self, loader: Foreign, arming: Arming) -> None:
        self._loader = loader
        self._arming = arming

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._arming.open(module.__name__, module)

    def __getattr__(self, name: str) -> Foreign:
        return getattr(self._loader, name)
