"""Sees who holds memory: the allocators, and the user's containers that grow with the steps."""

from __future__ import annotations

import functools
import gc
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from types import FrameType, FunctionType, ModuleType
from typing import NamedTuple, Protocol

from unslow.facts.memory import Container, Containers
from unslow.record.engine.allocator import mallinfo
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.own_attributes import attribute_values, attributes
from unslow.record.engine.probe import Doors, Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.engine.safe_inspection import (
    array_of,
    container_of,
    is_tensor,
    items,
    latest,
    length,
    values,
)
from unslow.record.probes.memory.arrays import closure_of, tensor_bytes
from unslow.record.probes.memory.named_values import NamedValues

_FIRST_INSPECTION = 8  # a container must have been seen to grow five times in fifty steps
_FURTHER = 1.4  # times the steps of the last inspection, before the next
_LONGEST = 4_000_000  # nanoseconds of one inspection
# Times what an inspection took, before the next: at most 2.5% of the time while the process
# grows, 0.1% while it does not.
_REST = 40, 1000
_GROWN = 2 << 20
_MUCH_HIGHER = 48 << 20  # bytes that the process gained: an inspection is due, whatever the step
_BLOCKS_EVERY = 8
_DEPTH = 3
_MOST_REPORTED = 12
_NUMBERS = (str, bytes, int, float, complex, bool, type(None))
_PLAIN = (*_NUMBERS, type, ModuleType)
_WORTH_NAMING = 1000  # bytes of an attribute that say what an object is made of
_CACHE = type(functools.cache(len))
_MANY = 8  # elements gained between two inspections
_SAMPLED = 3  # elements whose size is taken, from the end, where the latest are


class Memory(Probe):
    name = "memory"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._next = _FIRST_INSPECTION
        self._rest_began = self._rest_unit = 0  # when, and how much work, the last inspection was
        self._grew = False  # the process, between the last two inspections
        self._size = 0
        self._high = 0
        self._due = sys.maxsize  # bytes of the process at which the next inspection is due
        self._ticks = 0
        self._blocks = 0.0
        self._names = NamedValues(self.recorder)
        self._lengths: dict[tuple[str, str, str], int] = {}
        self._grown: dict[tuple[str, str, str], int] = {}
        self._mallinfo: Foreign = None
        self.recorder.signals.step.subscribe(self.name, self._stepped)

    def doors(self) -> Doors:
        return {"tensorflow": self._on_tensorflow}

    def _on_tensorflow(self, module: ModuleType) -> None:
        self.watcher.add_counters(self._python)
        self._mallinfo = mallinfo()
        if self._mallinfo is not None:  # else the allocator's own slack is not known
            self.watcher.add_counters(self._allocator)

    def _python(self) -> dict[str, float]:
        """Python's own blocks; counting takes half a millisecond, so not at every tick."""
        self._ticks += 1
        if self._ticks % _BLOCKS_EVERY == 1:
            self._blocks = float(sys.getallocatedblocks())
        return {"blocks": self._blocks}

    def _allocator(self) -> dict[str, float]:
        info = self._mallinfo()
        return {"heap_used": float(info.uordblks + info.hblkhd), "heap_slack": float(info.fordblks)}

    def _stepped(self, lane: Lane, total: int) -> None:
        # Growth that begins late would be over before three inspections have seen it.
        is_due = self.watcher.rss >= self._due
        if total < self._next and not is_due:
            return
        began = clock()
        if began < self._rest_began + self._rest_unit * _REST[not (is_due or self._grew)]:
            return
        self._next = max(total + 1, int(total * _FURTHER))
        worked = time.thread_time_ns()
        lane.busy = True
        self.recorder.inspecting, self.recorder.collected = lane.thread, 0
        try:
            self._walk(sys._getframe(1), total, began + _LONGEST)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")
            self.recorder.signals.step.unsubscribe(self._stepped)
        finally:
            lane.busy = False
            self.recorder.inspecting = 0
            spent = clock() - began - self.recorder.collected
            self.recorder.keep_out(lane, max(0, spent), self.name)
            size = self.watcher.resident()
            # By work, not by time: on a busy machine the inspections would become too few.
            self._rest_began, self._rest_unit = began, time.thread_time_ns() - worked
            self._grew = size - self._size >= _GROWN
            self._size = size
            # Above the highest so far: what comes and goes is not inspected each time.
            self._high = max(self._high, size)
            self._due = self._high + _MUCH_HIGHER

    def _walk(self, frame: FrameType, total: int, until: int) -> None:
        """Compare each container's length with the last inspection; write those that grew."""
        found: list[Container] = []
        seen: set[int] = set()
        for scope, name, value in self._names.of(frame):
            for held in _containers(name, value, seen, self._names, until):
                file, function = scope if held.cached is None else held.cached[:2]
                if self._has_grown((file, function, held.path), _count(held.container)):
                    found.append(_described_container(held, file, function))
            if clock() > until:
                break
        found.sort(key=lambda each: -each.bytes)
        if found:
            took = clock() - (until - _LONGEST)
            self.recorder.emit(
                Containers(took=took, step=total, found=tuple(found[:_MOST_REPORTED]))
            )

    def _has_grown(self, key: tuple[str, str, str], size: int) -> bool:
        """Twice, or by many elements at once."""
        before = self._lengths.get(key)
        self._lengths[key] = size
        if before is not None and size > before:
            self._grown[key] = self._grown.get(key, 0) + 1
        by_many = before is not None and size > before + _MANY
        return self._grown.get(key, 0) >= 2 or by_many


class Owners(Protocol):
    """Tells whose class an object has."""

    def is_users(self, value: Foreign) -> bool: ...

    def may_fill(self, value: Foreign, attribute: str) -> bool: ...


class _Held(NamedTuple):
    """A container, by the path that the user would write."""

    path: str
    container: Foreign
    # Of what functools.cache keeps: file, name and first line of the function.
    cached: tuple[str, str, int] | None = None


def _described_container(held: _Held, file: str, function: str) -> Container:
    container = held.container
    sizes = _sizes(container)
    return Container(
        path=held.path,
        file=file,
        function=function,
        kind=type(container).__name__ if held.cached is None else "cache",
        line=0 if held.cached is None else held.cached[2],
        length=_count(container),
        bytes=sizes.bytes,
        element=sizes.element,
        bounded=sizes.bounded,
    )


def _containers(
    name: str,
    held: Foreign,
    seen: set[int],
    owners: Owners,
    until: int,
    depth: int = 0,
) -> Iterator[_Held]:
    """The containers that a value is or holds: `self.history`, `cache['grads']`."""
    kinds = type(held).__mro__
    is_code = type in kinds or ModuleType in kinds
    if id(held) in seen or depth > _DEPTH or is_code:
        return
    kind = container_of(held)
    if kind is None and _joined(held) is not None:
        yield _Held(name, held)
        return
    if kind is not None:
        yield _Held(name, held)
    elif type(held) is _CACHE:
        yield from _cached(held)
    elif type(held) is not FunctionType and not (owners.is_users(held) and clock() < until):
        return
    seen.add(id(held))
    for path, value in _parts(name, held, kind, owners):
        yield from _containers(path, value, seen, owners, until, depth + 1)


def _parts(
    name: str, held: Foreign, kind: type | None, owners: Owners
) -> Iterator[tuple[str, Foreign]]:
    """What a small container holds, a function closes over, or an object has as attributes."""
    if kind is dict and length(held) <= 50:
        for key, value in items(held):
            if type(key) in (str, int):
                yield f"{name}[{key!r}]", value
    elif kind is list and length(held) <= 20:
        for index, value in enumerate(values(held, 20)):
            yield f"{name}[{index}]", value
    elif type(held) is FunctionType:
        yield from closure_of(held)
    elif kind is None and type(held) is not _CACHE:
        yield from _attributes(name, held, owners)


def _attributes(name: str, held: Foreign, owners: Owners) -> Iterator[tuple[str, Foreign]]:
    """The attributes of an object, and the methods of its class that keep their results."""
    for attribute, value in list(attributes(held).items()):
        if owners.may_fill(held, attribute):
            yield f"{name}.{attribute}", value
    for base in type(held).__mro__:
        for method in list(vars(base).values()):
            if type(method) is _CACHE:
                yield "", method


def _cached(function: Foreign) -> Iterator[_Held]:
    """What `functools.cache` has kept of a function; where it has a limit, it is bounded."""
    own = vars(function)
    code = getattr(own.get("__wrapped__"), "__code__", None)
    if code is None or own["cache_parameters"]()["maxsize"] is not None:
        return
    for kept in gc.get_referents(function):
        if type(kept) is dict and kept is not own:
            place = (code.co_filename, code.co_name, code.co_firstlineno)
            yield _Held(f"{code.co_name}()", kept, place)


def _joined(held: Foreign) -> tuple[float, int] | None:
    """Bytes and rows of an array or a tensor, which does not grow but is recreated, longer."""
    array = array_of(held)
    if array is not None:
        return float(array[0]), next(iter(array[1]), 0)
    return (
        (_bytes(held, set()), next(iter(held._shape_tuple() or ()), 0)) if is_tensor(held) else None
    )


def _count(held: Foreign) -> int:
    joined = _joined(held)
    return length(held) if joined is None else joined[1]


class _Sizes(NamedTuple):
    bytes: float
    element: str
    bounded: bool


def _sizes(held: Foreign) -> _Sizes:
    """Bytes that a container holds, from its latest elements, and what they are."""
    joined = _joined(held)
    if joined is not None:
        return _Sizes(joined[0], _described(held), bounded=False)
    last = latest(held, _SAMPLED)
    seen: set[int] = set()  # what two elements share, neither of them keeps
    sizes = sorted(_bytes(value, seen) for value in last)
    each = sizes[len(sizes) // 2] if sizes else 0.0
    bounded = container_of(held) is deque and deque.maxlen.__get__(held) is not None
    return _Sizes(each * length(held), _described(last[0]) if last else "", bounded)


def _bytes(value: Foreign, seen: set[int], depth: int = 0) -> float:
    if type(value) in _PLAIN:
        return float(sys.getsizeof(value)) if type(value) in _NUMBERS else 50.0
    if id(value) in seen:
        return 8.0
    seen.add(id(value))
    if is_tensor(value):
        return tensor_bytes(value) + 250  # of the object itself
    array = array_of(value)
    if array is not None:  # of a view: it keeps all of the array behind it
        is_view = array_of(array[3]) is not None  # of TensorFlow's buffer, no array is behind it
        return 100 + (_bytes(array[3], seen, depth + 1) if is_view else float(array[0]))
    if depth >= 3:
        return 50.0
    own, inside = _inside(value)
    return own + sum(_bytes(inner, seen, depth + 1) for inner in inside)


def _inside(value: Foreign) -> tuple[float, Iterable[Foreign]]:
    """What an object takes itself, and what it holds."""
    if type(value) is FunctionType:
        return 50.0, (inner for _, inner in closure_of(value))
    if container_of(value) is not None:
        return 100.0, values(value, 200)
    held = tuple.__iter__(value) if tuple in type(value).__mro__ else attribute_values(value)
    return 60.0, list(held)[:200]


def _described(value: Foreign, depth: int = 0) -> str:
    kind = str(type(value).__name__)
    if is_tensor(value):
        return f"tensor {getattr(value.dtype, 'name', '')}{list(value._shape_tuple() or ())}"
    array = array_of(value)
    if array is not None:
        return f"array {array[2]}{list(array[1])}"
    if type(value) in _PLAIN or depth >= 2:
        return kind
    if type(value) in (list, tuple, dict) and value:
        first = next(iter(value.values() if type(value) is dict else value))
        return f"{kind} of {len(value)} × {_described(first, depth + 1)}"
    if type(value) is FunctionType:
        return _described_closure(value, depth)
    largest = max(_inside(value)[1], key=lambda inner: _bytes(inner, set()), default=None)
    if largest is not None and _bytes(largest, set()) > _WORTH_NAMING:
        return f"{kind} with {_described(largest, depth + 1)}"
    return kind


def _described_closure(function: FunctionType, depth: int) -> str:
    """A function by what it closes over: a tape, which hides what it holds, or the largest
    value."""
    held = [value for _, value in closure_of(function)]
    tape = next((value for value in held if "Tape" in type(value).__name__), None)
    largest = max(held, key=lambda value: _bytes(value, set()), default=None)
    named = tape if tape is not None else largest
    return "function" if named is None else f"function over {_described(named, depth + 1)}"
