"""Takes stock of the user's arrays and tensors when the process reaches a new size.

The watcher sees the growth, but only a thread itself may read its own frames: the inspection is
handed to the main thread, which runs it between two instructions, like a signal handler.
"""

from __future__ import annotations

import ctypes
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType

from unslow.facts.memory import Captured, Holding, Inventory, MemoryHigh
from unslow.facts.schema import Place
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.frames import local_names
from unslow.record.engine.probe import Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.engine.safe_inspection import (
    array_of,
    attributes,
    container_of,
    is_tensor,
    items,
    length,
    module_names,
    values,
)
from unslow.record.engine.thread_stacks import lines_of
from unslow.record.probes.memory.named_values import NamedValues, Scope

_MOST_INVENTORIES = 16
_GROWN = 1.25  # times the size at the last inventory
_LEAST_GROWN = 96 << 20  # bytes above the size at the start: less is TensorFlow warming up
_HIGHER = 1.05  # times the last high that was written
_LONGEST = 20_000_000  # nanoseconds of one inventory, of work: on a busy machine it waits longer
_LEAST_HELD = 4 << 20  # bytes: smaller arrays explain no peak
_MOST_REPORTED = 40
_DEPTH = 3
_FEW = 20  # elements that are named one by one; more are added up
_SAMPLED = 200  # elements of a container that are added up; the rest is taken to be like them
_ROWS = 16  # of a matrix, to see whether it is one-hot
_CLASSES = 8  # columns below which a one-hot matrix wastes little
_FEEDS = frozenset(("fit", "evaluate", "predict"))
_FED = frozenset(("x", "y", "validation_data"))
_KERAS = ("keras", "tf_keras")
_FRAMES = 6
_MOST_REGISTERED = 2000
_MOST_BEHIND = 60  # objects between a function that TensorFlow registers and the user's own
_DEEP = 60  # frames between the running code and the call of fit()

_current: list[Stock] = []  # the probe of the recording under way


def _pending(_: object) -> int:
    for stock in _current:
        stock.on_main_thread()
    return 0


# One for all recordings: the interpreter may call it as long as the process lives.
_callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(_pending)


class Stock(Probe):
    name = "inventory"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._names = NamedValues(self.recorder)
        self._start = 0  # bytes when TensorFlow had been imported
        self._high = 0.0
        self._inspected = 0  # bytes at the last inventory
        self._taken = 0
        self._trained = False  # an inventory was taken in a training step
        self._due = False
        self._ends = False
        self._schedule: Callable[[], object] | None = None
        self.recorder.signals.wake.subscribe(self.name, self._woke)
        self.recorder.signals.step.subscribe(self.name, self._stepped)

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        return {"tensorflow": self._on_tensorflow}

    def _on_tensorflow(self, module: ModuleType) -> None:
        add = ctypes.pythonapi.Py_AddPendingCall
        _current[:] = [self]
        self._schedule = lambda: add(_callback, None)
        self._start = self._inspected = self.watcher.resident()
        self._high = float(self._start)

    def _woke(self) -> None:
        """On the watcher's thread."""
        if not self._start or self.recorder.is_trial:
            return
        size = self.watcher.resident()
        self._note_high(size)
        if self._due and self._schedule is not None:
            # A wake later: what a call returned has its name by now.
            self._due = False
            self._schedule()
        elif size > max(_GROWN * self._inspected, self._start + _LEAST_GROWN):
            self._due = True
            self._inspected = size

    def _note_high(self, size: int) -> None:
        high = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
        if high < _HIGHER * self._high:
            return
        self._high = high
        places = self.recorder.user.places(lines_of(self.watcher.training_thread()), _FRAMES)
        stack = tuple(Place(*place) for place in self.recorder.kept(places))
        self.recorder.emit(
            MemoryHigh(bytes=high, rss=float(size), step=self.steps.total, stack=stack)
        )

    def on_main_thread(self) -> None:
        lane = self.recorder.local.lane
        if not self._ends and not lane.busy:
            self._inspect(lane, sys._getframe(2))

    def _stepped(self, lane: Lane, total: int) -> None:
        """The first step: all that the training needs is there."""
        if self._trained or not self._start or self.recorder.is_trial:
            return
        self._trained = True
        if self.watcher.resident() > self._start + _LEAST_GROWN:
            self._inspect(lane, sys._getframe(1))

    def _inspect(self, lane: Lane, frame: FrameType | None) -> None:
        if self._taken >= _MOST_INVENTORIES:
            return
        self._taken += 1
        began = clock()
        busy, lane.busy = lane.busy, True
        try:
            self._take(frame, time.thread_time_ns() + _LONGEST)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")
            self._ends = True
        finally:
            lane.busy = busy
            self.recorder.keep_out(lane, clock() - began, self.name)

    def _take(self, frame: FrameType | None, until: int) -> None:
        walk = _Walk(self._names.is_users, _fed(frame), until)
        for scope, name, value in self._names.of(frame):
            walk.visit(scope, name, value, 0)
            if walk.is_over():
                break
        held = [found for found in walk.held() if found.bytes >= _LEAST_HELD]
        held.sort(key=lambda found: -found.bytes)
        self.recorder.emit(
            Inventory(
                step=self.steps.total,
                rss=float(self.watcher.resident()),
                stack=self.recorder.stack(frame),
                held=tuple(held[:_MOST_REPORTED]),
                captured=tuple(_captured(self.recorder.user.owns)),
                complete=not walk.is_over(),
            )
        )

    def disarm(self) -> None:
        self._ends = True
        if self in _current:
            _current.remove(self)
        super().disarm()


class _Walk:
    """One pass over the user's names; what several of them share counts once."""

    def __init__(
        self, is_users: Callable[[Foreign], bool], fed: dict[int, str], until: int
    ) -> None:
        self._is_users = is_users
        self._fed = fed  # id of an array → the call that it was given to
        self._until = until
        self._arrays: dict[int, Holding] = {}  # by the id of the array that owns the memory
        self._views: set[int] = set()  # of them, those that only a view was found of
        self._containers: list[Holding] = []
        self._seen: set[int] = set()

    def is_over(self) -> bool:
        return time.thread_time_ns() > self._until

    def held(self) -> list[Holding]:
        return [*self._arrays.values(), *self._containers]

    def visit(self, scope: Scope, path: str, value: object, depth: int) -> None:
        if _is_data(value):
            self._add_data(scope, path, value)
            return
        if depth >= _DEPTH or id(value) in self._seen or self.is_over():
            return
        self._seen.add(id(value))
        if _size(value) > _FEW:
            self._add_container(scope, path, value)
            return
        for inner_path, inner in self._parts(path, value):
            self.visit(scope, inner_path, inner, depth + 1)

    def _parts(self, path: str, value: object) -> Iterator[tuple[str, Foreign]]:
        kind = container_of(value)
        if kind is dict:
            yield from ((f"{path}[{key!r}]", inner) for key, inner in _named_items(value))
        elif kind is not None or tuple in type(value).__mro__:
            yield from ((f"{path}[{at}]", inner) for at, inner in enumerate(_elements(value)))
        elif type(value) is FunctionType:
            yield from _closure(value)
        elif self._is_users(value):
            yield from ((f"{path}.{name}", inner) for name, inner in attributes(value).items())

    def _add_data(self, scope: Scope, path: str, value: object) -> None:
        owner = _owner(value)
        if owner is None:
            return
        is_view = owner is not value
        known = self._arrays.get(id(owner))
        if known is not None and (is_view or id(owner) not in self._views):
            return
        if is_view:
            self._views.add(id(owner))
        else:
            self._views.discard(id(owner))
        self._arrays[id(owner)] = self._holding(scope, path, owner)

    def _holding(self, scope: Scope, path: str, owner: object) -> Holding:
        size, shape, dtype = _described(owner)
        return Holding(
            path=path,
            file=scope[0],
            function=scope[1],
            type="tensor" if is_tensor(owner) else "array",
            bytes=size,
            dtype=dtype,
            shape=shape,
            one_hot=size >= _LEAST_HELD and _is_one_hot(owner, shape),
            fed=self._fed.get(id(owner), ""),
        )

    def _add_container(self, scope: Scope, path: str, value: object) -> None:
        """The bytes of many elements, each array counted once and only if no name has it."""
        number = _size(value)
        sampled = _elements(value)
        owned = {id(owner): owner for owner in map(_owner, _flat(sampled)) if owner is not None}
        own = [owner for key, owner in owned.items() if key not in self._arrays]
        if not own:
            return
        first = _described(own[0])
        total = sum(_described(owner)[0] for owner in own)
        holding = Holding(
            path=path,
            file=scope[0],
            function=scope[1],
            type=type(value).__name__,
            bytes=total * number / max(1, len(sampled)),
            dtype=first[2],
            shape=(number, *first[1]),
        )
        self._containers.append(holding)


def _is_data(value: object) -> bool:
    return is_tensor(value) or array_of(value) is not None


def _owner(value: Foreign) -> Foreign:
    """The array that owns the memory; None where it is a file's (np.memmap) or not NumPy's own."""
    if is_tensor(value):
        return value
    while True:
        found = array_of(value)
        if found is None:
            return None
        base = found[3]
        if base is None:
            return value
        value = base


def _described(owner: Foreign) -> tuple[float, tuple[int, ...], str]:
    """Bytes, shape and dtype."""
    array = array_of(owner)
    if array is not None:
        return float(array[0]), array[1], array[2]
    shape = tuple(int(side or 0) for side in owner._shape_tuple() or ())
    size = float(getattr(owner.dtype, "size", 4) or 4)
    for side in shape:
        size *= side
    return size, shape, str(getattr(owner.dtype, "name", ""))


def _size(value: Foreign) -> int:
    if container_of(value) is not None:
        return length(value)
    return tuple.__len__(value) if tuple in type(value).__mro__ else 0


def _elements(value: Foreign) -> list[Foreign]:
    if container_of(value) is not None:
        return values(value, _SAMPLED)
    return list(tuple.__iter__(value))[:_SAMPLED]


def _named_items(value: object) -> list[tuple[Foreign, Foreign]]:
    return [(key, inner) for key, inner in items(value) if type(key) in (str, int)]


def _flat(elements: Iterable[Foreign]) -> Iterator[Foreign]:
    """Arrays among elements, and those in tuples, lists and dicts that are elements."""
    for element in elements:
        if _is_data(element):
            yield element
        elif 0 < _size(element) <= _FEW:
            yield from (inner for inner in _elements(element) if _is_data(inner))


def _closure(function: FunctionType) -> Iterator[tuple[str, Foreign]]:
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # a cell that is still empty
            continue


def _captured(is_users: Callable[[CodeType], bool]) -> Iterator[Captured]:
    """What functions of the user's close over that TensorFlow has registered: it never drops them.

    The registry is private: seen on 2.15 to 2.21; without it nothing is reported.
    """
    script_ops = module_names(sys.modules.get("tensorflow.python.ops.script_ops"))
    registered = attributes(script_ops.get("_py_funcs")).get("_funcs")
    references = list(attributes(registered).get("data", {}).values())[:_MOST_REGISTERED]
    found: dict[int, FunctionType] = {}
    for reference in references:
        for function in _functions_behind(reference(), is_users):
            found[id(function)] = function
    places: dict[Place, tuple[int, dict[int, float]]] = {}
    for function in found.values():
        code = function.__code__
        place = Place(code.co_filename, code.co_firstlineno, code.co_name)
        number, sizes = places.get(place, (0, {}))
        owners = map(_owner, _flat(value for _, value in _closure(function)))
        sizes.update({id(each): _described(each)[0] for each in owners if each is not None})
        places[place] = (number + 1, sizes)
    for place, (number, sizes) in places.items():
        if sum(sizes.values()) >= _LEAST_HELD:
            yield Captured(place=place, functions=number, bytes=sum(sizes.values()))


def _functions_behind(
    start: object, is_users: Callable[[CodeType], bool]
) -> Iterator[FunctionType]:
    """The user's functions behind one of TensorFlow's, through closures and attributes."""
    pending, seen = [start], 0
    while pending and seen < _MOST_BEHIND:
        value = pending.pop()
        seen += 1
        if type(value) is FunctionType:
            if is_users(value.__code__):
                yield value
            else:
                pending += [inner for _, inner in _closure(value)]
        elif type(value) is MethodType:
            pending += [value.__func__, value.__self__]
        elif str(type(value).__module__).startswith("tensorflow"):
            pending += attributes(value).values()


def _fed(frame: FrameType | None) -> dict[int, str]:
    """Arrays that were given to a Keras call on the stack, by the id of what owns their memory."""
    found: dict[int, str] = {}
    for _ in range(_DEEP):
        if frame is None:
            break
        if _is_keras_call(frame):
            given = [value for name, value in local_names(frame) if name in _FED]
            for value in _flat([*given, *(inner for one in given for inner in _given(one))]):
                found[id(_owner(value))] = frame.f_code.co_name
        frame = frame.f_back
    return found


def _given(value: object) -> list[Foreign]:
    return _elements(value) if 0 < _size(value) <= _FEW else []


def _is_keras_call(frame: FrameType) -> bool:
    if frame.f_code.co_name not in _FEEDS:
        return False
    module = frame.f_globals.get("__name__")
    return type(module) is str and module.partition(".")[0] in _KERAS


def _is_one_hot(owner: Foreign, shape: tuple[int, ...]) -> bool:
    """Whether rows of a matrix, some of them looked at, hold a single one and zeros."""
    numpy: Foreign = sys.modules.get("numpy")
    is_matrix = len(shape) >= 2 and shape[-1] >= _CLASSES
    if numpy is None or type(owner) is not numpy.ndarray or not is_matrix:
        return False
    if owner.dtype.kind not in "fiub":
        return False
    if len(shape) > 2 and not owner.flags.c_contiguous:
        return False  # to reshape it would copy all of it
    rows = owner.reshape(-1, shape[-1])
    step = max(1, len(rows) // _ROWS)
    sample = rows[::step][:_ROWS]
    single = (sample != 0).sum(axis=1) == 1
    return bool(single.all()) and bool((sample.max(axis=1) == 1).all())
