"""Sees who holds memory: the process's allocators, and the user's own containers that grow with the steps."""

from __future__ import annotations

import ctypes
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType, ModuleType
from typing import Any

from unslow.record.probe import Probe
from unslow.record.recorder import Lane, clock

_FIRST_LOOK = 16
_FURTHER = 1.4  # each look comes after so many times the steps of the last
_LONGEST = 4_000_000  # nanoseconds a look may take; what was not reached is said
# Times what a look took, before the next: at most 2.5 % of the time while the process grows, 0.25 % while it does not.
_REST = 40, 400
_GROWN = 2 << 20
_BLOCKS_EVERY = 8
_DEPTH = 3
_MOST_REPORTED = 12
_CONTAINERS = (list, dict, set, deque)
_PLAIN = (str, bytes, int, float, complex, type, ModuleType, FunctionType)
_WORTH_NAMING = 1000  # bytes of an attribute that say what an object is made of
_SAMPLED = 3  # elements whose size is taken, from the end, where the latest are


class Memory(Probe):
    name = "memory"

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._next = _FIRST_LOOK
        self._rested = 0
        self._size = 0
        self._ticks = 0
        self._blocks = 0.0
        self._lengths: dict[tuple[str, str, str], int] = {}
        self._grown: dict[tuple[str, str, str], int] = {}
        self._mallinfo: Any = None
        self.steps.listeners.append(self._look)

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        return {"tensorflow": self._on_tensorflow}

    def _on_tensorflow(self, module: ModuleType) -> None:
        self.watcher.readers.append(self._python)
        try:  # glibc 2.33 and later; without it the allocator's own slack is not known
            self._mallinfo = ctypes.CDLL(None).mallinfo2
            self._mallinfo.restype = _MallInfo
            self.watcher.readers.append(self._allocator)
        except (OSError, AttributeError):
            return

    def _python(self) -> dict[str, float]:
        """Python's own blocks; to count them takes half a millisecond, so they are counted every so many ticks."""
        self._ticks += 1
        if self._ticks % _BLOCKS_EVERY == 1:
            self._blocks = float(sys.getallocatedblocks())
        return {"blocks": self._blocks}

    def _allocator(self) -> dict[str, float]:
        info = self._mallinfo()
        return {"heap_used": float(info.uordblks + info.hblkhd), "heap_slack": float(info.fordblks)}

    def _look(self, lane: Lane, total: int) -> None:
        if total < self._next:
            return
        began = clock()
        if began < self._rested:
            return
        self._next = max(total + 1, int(total * _FURTHER))
        worked = time.thread_time_ns()
        lane.busy = True
        try:
            self._walk(sys._getframe(1), total, began + _LONGEST)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")
            self.steps.listeners.remove(self._look)
        finally:
            lane.busy = False
            self.recorder.keep_out(lane, clock() - began, self.name)
            size = self.watcher.resident()
            # By the work it was, not by the time it took: on a busy machine the looks would become too few.
            self._rested = began + (time.thread_time_ns() - worked) * _REST[size - self._size < _GROWN]
            self._size = size

    def _walk(self, frame: FrameType, total: int, until: int) -> None:
        """Compare the length of every container of the user's with the last look; write those that grew twice."""
        grown = []
        seen: set[int] = set()
        for scope, name, held in self._named(frame):
            for path, container in _containers(name, held, seen, self._is_users, until):
                key = (*scope, path)
                length = len(container)
                before = self._lengths.get(key)
                self._lengths[key] = length
                if before is not None and length > before:
                    self._grown[key] = self._grown.get(key, 0) + 1
                if self._grown.get(key, 0) >= 2 or (before is not None and length > before + 8):
                    grown.append((key, container))
            if clock() > until:
                break
        found = [
            {
                "file": file,
                "function": function,
                "path": path,
                "length": len(held),
                "kind": type(held).__name__,
                **_sizes(held),
            }
            for (file, function, path), held in grown
        ]
        found.sort(key=lambda entry: -float(entry["bytes"]))
        if found:
            self.recorder.fact("containers", "", clock() - (until - _LONGEST), step=total, found=found[:_MOST_REPORTED])

    def _named(self, frame: FrameType | None) -> Iterator[tuple[tuple[str, str], str, Any]]:
        """The user's names: locals of the frames on the stack, then globals of their modules."""
        user = self.recorder.user
        modules: dict[str, Any] = {}
        for (file, _, function), held in user.frames(frame, 12):
            modules[file] = held.f_globals
            self.recorder.keep_source(file)
            if held.f_locals is not held.f_globals:
                for name, value in list(held.f_locals.items()):
                    yield (file, function), name, value
        for module in list(sys.modules.values()):
            source = getattr(module, "__file__", None)
            if source and source not in modules and user.has_seen(source):
                modules[source] = vars(module)
        for place, names in modules.items():
            for name, value in list(names.items()):
                if not name.startswith("__"):
                    yield (place, "<module>"), name, value

    def _is_users(self, value: Any) -> bool:
        """An object of a class of the user's own: its attributes are theirs to fill."""
        module = sys.modules.get(type(value).__module__)
        file = getattr(module, "__file__", None)
        return bool(file and self.recorder.user.has_seen(file)) or type(value).__module__ == "__main__"


def _containers(
    name: str, held: Any, seen: set[int], is_users: Callable[[Any], bool], until: int, depth: int = 0
) -> Iterator[tuple[str, Any]]:
    """A value's containers by the path the user would write: `self.history`, `cache['grads']`."""
    if id(held) in seen or depth > _DEPTH or isinstance(held, ModuleType | type):
        return
    if isinstance(held, _CONTAINERS):
        seen.add(id(held))
        yield name, held
        if isinstance(held, dict) and len(held) <= 50:
            for key, value in list(held.items()):
                yield from _containers(f"{name}[{key!r}]", value, seen, is_users, until, depth + 1)
        elif isinstance(held, list) and len(held) <= 20:
            for index, value in enumerate(held):
                yield from _containers(f"{name}[{index}]", value, seen, is_users, until, depth + 1)
    elif isinstance(held, FunctionType):
        names = held.__code__.co_freevars
        for inner, cell in zip(names, held.__closure__ or (), strict=False):
            try:
                yield from _containers(inner, cell.cell_contents, seen, is_users, until, depth + 1)
            except ValueError:  # a cell that is still empty
                continue
    elif is_users(held) and clock() < until:
        seen.add(id(held))
        for attribute, value in list(getattr(held, "__dict__", {}).items()):
            if not attribute.startswith("_"):
                yield from _containers(f"{name}.{attribute}", value, seen, is_users, until, depth + 1)


def _sizes(held: Any) -> dict[str, Any]:
    """Bytes that a container holds, from its latest elements, and what they are."""
    if isinstance(held, dict):
        latest = [held[key] for key in list(held)[-_SAMPLED:]]
    elif isinstance(held, set):
        latest = [value for value, _ in zip(held, range(_SAMPLED), strict=False)]
    else:
        latest = [held[-index] for index in range(1, min(_SAMPLED, len(held)) + 1)]
    seen: set[int] = set()  # what two elements share, neither of them keeps
    sizes = sorted(_bytes(value, seen) for value in latest)
    each = sizes[len(sizes) // 2] if sizes else 0.0
    return {
        "bytes": each * len(held), "element": _described(latest[0]) if latest else "",
        "bounded": getattr(held, "maxlen", None) is not None,
    }  # fmt: skip


def _bytes(value: Any, seen: set[int], depth: int = 0) -> float:
    if not isinstance(value, _PLAIN):
        if id(value) in seen:
            return 8.0
        seen.add(id(value))
    shape_of = getattr(value, "_shape_tuple", None)
    if shape_of is not None:  # an eager tensor: its object and its buffer
        size = float(getattr(getattr(value, "dtype", None), "size", 4) or 4)
        for dimension in shape_of() or ():
            size *= dimension or 0
        return size + 250
    held = getattr(value, "nbytes", None)
    if isinstance(held, int):
        base = getattr(value, "base", None)  # of a view: what it keeps is all of the array that it looks at
        return 100 + (float(held) if base is None else _bytes(base, seen, depth + 1))
    if depth < 3 and isinstance(value, list | tuple | set | deque):
        return 60 + sum(_bytes(inner, seen, depth + 1) for inner in list(value)[:200])
    if depth < 3 and isinstance(value, dict):
        return 100 + sum(_bytes(inner, seen, depth + 1) for inner in list(value.values())[:200])
    if depth < 3 and not isinstance(value, _PLAIN):
        return 50 + sum(_bytes(inner, seen, depth + 1) for inner in list(_attributes(value).values())[:200])
    try:
        return float(sys.getsizeof(value))
    except TypeError:
        return 50.0


def _attributes(value: Any) -> dict[str, Any]:
    """What an object holds: a record that was kept is as large as what it is made of."""
    slots = getattr(type(value), "__slots__", ())
    names = [slots] if isinstance(slots, str) else slots
    return {**getattr(value, "__dict__", {}), **{name: getattr(value, name, None) for name in names}}


def _described(value: Any, depth: int = 0) -> str:
    if hasattr(value, "_shape_tuple"):
        return f"tensor {getattr(value.dtype, 'name', '')}{list(value._shape_tuple() or ())}"
    if type(value).__module__ == "numpy" and hasattr(value, "shape"):
        return f"array {value.dtype}{list(value.shape)}"
    if isinstance(value, list | tuple) and value and depth < 2:
        return f"{type(value).__name__} of {len(value)} × {_described(value[0], depth + 1)}"
    if isinstance(value, dict) and value and depth < 2:
        return f"dict of {len(value)} × {_described(next(iter(value.values())), depth + 1)}"
    if depth < 2 and not isinstance(value, _PLAIN):
        largest = max(_attributes(value).values(), key=lambda inner: _bytes(inner, set()), default=None)
        if largest is not None and _bytes(largest, set()) > _WORTH_NAMING:
            return f"{type(value).__name__} with {_described(largest, depth + 1)}"
    return type(value).__name__


class _MallInfo(ctypes.Structure):
    """`struct mallinfo2` of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    ]  # fmt: skip
