"""Compares what Python functions make: whether a pass gives the same elements as the one before."""

from __future__ import annotations

import sys
from time import thread_time_ns

from unslow.facts.data import PythonElements
from unslow.record.engine.foreign import Foreign

_WHOLE = 4096  # bytes of an array that are compared; of a larger one as many, spread over it
_PIECES = 16
_MOST_INPUTS = 512  # of a function, whose outputs are compared when they come again
_MOST_OPEN = 8  # passes under way
_MOST_PASSES = 4  # the first and three more: a few hundred elements would do
_MOST_STRINGS = 256  # in an array of them
# The cost: at most a few per cent of what the function itself takes, and a twentieth of a second
# for functions that take next to nothing. 2 to 8 µs of a processor for an array were measured; by
# the wall clock it is several times as much where other threads want Python's lock.
_MOST_COST = 0.03
_FREE_COST = 50_000_000  # nanoseconds
_GENERATOR = "generator_py_func"  # TensorFlow's functions around a generator, on 2.15 to 2.21
_PLUMBING = ("get_next_id", "finalize_py_func")

_Print = tuple[int, int]  # a hash, and the bytes of what it was computed from


def comparison(function: Foreign) -> Comparison | None:
    """How the results of a function are compared; None for what only manages a generator."""
    inner = getattr(function, "_func", function)  # py_function keeps it in an object
    name, module = getattr(inner, "__name__", ""), getattr(inner, "__module__", None) or ""
    if not str(module).startswith("tensorflow."):
        return _ByInput()
    if name in _PLUMBING:
        return None
    return _ByPass() if name == _GENERATOR else _ByInput()


class _Unreadable(Exception):
    """The contents of an element cannot be read."""


class Comparison:
    """Compares elements until the answer is known or costs too much."""

    def __init__(self) -> None:
        self.done = False
        self.spent = 0  # nanoseconds
        self.compared = 0  # elements that were made a second time
        self.same = True
        self.written: PythonElements | None = None

    def called(self, args: Foreign, result: Foreign, wall: int) -> int:
        """After a call, of a function that took `wall` nanoseconds so far; what this took."""
        began = thread_time_ns()
        try:
            self._compare(args, result)
        except Exception:  # noqa: BLE001 - what cannot be read cannot be compared
            self.compared = 0
            self.done = True
        took = thread_time_ns() - began
        self.spent += took
        if not self.same or self.spent > _FREE_COST + _MOST_COST * wall:
            self.done = True
        return took

    def _compare(self, args: Foreign, result: Foreign) -> None:
        raise NotImplementedError

    def answer(self, token: str) -> PythonElements | None:
        """What is known so far; None where nothing was made a second time."""
        if not self.compared:
            return None
        return PythonElements(token=token, compared=self.compared, same=self.same)


class _Pass:
    """The elements of one pass of a generator."""

    __slots__ = ("bytes", "count", "ordered", "total")

    def __init__(self) -> None:
        self.count = 0
        self.bytes = 0
        self.total = 0  # the same in any order
        self.ordered = 0


class _ByPass(Comparison):
    """A generator: each complete pass with the first one."""

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[bytes, _Pass] = {}  # by the number that TensorFlow gave to the pass
        self._first = _Pass()
        self._passes = 0
        self._reordered = False

    def _compare(self, args: Foreign, result: Foreign) -> None:
        key = bytes(memoryview(args[0]))
        if result is not None:
            self._add(key, fingerprint(result))
            return
        ended = self._open.pop(key, None)
        is_complete = sys.exc_info()[0] is StopIteration
        if ended is not None and is_complete:
            self._complete(ended)

    def _add(self, key: bytes, made: _Print) -> None:
        if key not in self._open and len(self._open) >= _MOST_OPEN:
            self._open.pop(next(iter(self._open)))  # left before its end
        one = self._open.setdefault(key, _Pass())
        one.count += 1
        one.bytes += made[1]
        one.total = (one.total + made[0]) & sys.maxsize
        one.ordered = hash((one.ordered, made[0]))

    def _complete(self, ended: _Pass) -> None:
        self._passes += 1
        self.done = self._passes >= _MOST_PASSES
        if self._passes == 1:
            self._first = ended
            return
        first = self._first
        self.compared += ended.count
        self.same &= (first.count, first.total) == (ended.count, ended.total)
        self._reordered |= first.ordered != ended.ordered

    def answer(self, token: str) -> PythonElements | None:
        if not self.compared:
            return None
        return PythonElements(
            token=token,
            compared=self.compared,
            same=self.same,
            generator=True,
            reordered=self._reordered,
            elements=self._first.count,
            bytes=float(self._first.bytes),
        )


class _ByInput(Comparison):
    """A function: what it makes of inputs that it was given before."""

    def __init__(self) -> None:
        super().__init__()
        self._outputs: dict[int, int] = {}  # by input

    def _compare(self, args: Foreign, result: Foreign) -> None:
        given, _ = fingerprint(args)
        before = self._outputs.get(given)
        if before is None and len(self._outputs) >= _MOST_INPUTS:
            return
        made, _ = fingerprint(result)
        if before is None:
            self._outputs[given] = made
            return
        self.compared += 1
        self.same &= before == made
        self.done = self.compared >= 2 * _MOST_INPUTS


def fingerprint(values: Foreign) -> _Print:
    """Of an array, a tensor or a list of them."""
    prints = [_of_one(one) for one in (values if isinstance(values, list | tuple) else [values])]
    return hash(tuple(prints)), sum(size for _, size in prints)


def _of_one(value: Foreign) -> _Print:
    if type(value) in (bytes, str):
        return hash(value), len(value)
    try:
        view = memoryview(value)
    except (TypeError, BufferError, ValueError):
        return _of_strings(value.numpy())  # a tensor of strings
    if view.format == "O":
        return _of_strings(value)
    kind = (view.format, view.shape)
    if not view.nbytes:
        return hash(kind), 0
    content = view.cast("B") if view.c_contiguous else memoryview(view.tobytes())
    size = len(content)
    if size <= _WHOLE:
        return hash((kind, bytes(content))), size
    piece = _WHOLE // _PIECES
    starts = [(size - piece) * number // (_PIECES - 1) for number in range(_PIECES)]
    return hash((kind, *[bytes(content[start : start + piece]) for start in starts])), size


def _of_strings(value: Foreign) -> _Print:
    """Of text, or an array of it: other objects are the program's, and are not touched."""
    items = [value] if type(value) in (bytes, str) else value.ravel().tolist()
    is_text = all(type(item) in (bytes, str) for item in items)
    if not is_text or len(items) > _MOST_STRINGS:
        raise _Unreadable
    return hash((getattr(value, "shape", ()), *items)), sum(len(item) for item in items)
