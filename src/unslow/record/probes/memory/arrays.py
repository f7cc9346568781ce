"""Arrays and tensors of the user's: who owns their memory, how large they are, where they are."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import FunctionType

from unslow.record.engine.foreign import Foreign
from unslow.record.engine.safe_inspection import array_of, container_of, is_tensor, length, values

FEW = 20  # elements that are named one by one; more are added up
LEAST_HELD = 4 << 20  # bytes: smaller arrays explain no peak
_SAMPLED = 200  # elements of a container that are added up; the rest is taken to be like them
_ROWS = 16  # of a matrix, to see whether it is one-hot
_CLASSES = 8  # columns below which a one-hot matrix wastes little


def is_data(value: object) -> bool:
    return is_tensor(value) or array_of(value) is not None


def owner_of(value: Foreign) -> Foreign:
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


def described(owner: Foreign) -> tuple[float, tuple[int, ...], str]:
    """Bytes, shape and dtype."""
    array = array_of(owner)
    if array is not None:
        return float(array[0]), array[1], array[2]
    shape = tuple(int(side or 0) for side in owner._shape_tuple() or ())
    return tensor_bytes(owner), shape, str(getattr(owner.dtype, "name", ""))


def tensor_bytes(tensor: Foreign) -> float:
    size = float(getattr(tensor.dtype, "size", 4) or 4)
    for side in tensor._shape_tuple() or ():
        size *= side or 0
    return size


def size_of(value: Foreign) -> int:
    if container_of(value) is not None:
        return length(value)
    return tuple.__len__(value) if tuple in type(value).__mro__ else 0


def elements_of(value: Foreign) -> list[Foreign]:
    if container_of(value) is not None:
        return values(value, _SAMPLED)
    return list(tuple.__iter__(value))[:_SAMPLED]


def arrays_among(elements: Iterable[Foreign]) -> Iterator[Foreign]:
    """Arrays among elements, and those in tuples, lists and dicts that are elements."""
    for element in elements:
        if is_data(element):
            yield element
        elif 0 < size_of(element) <= FEW:
            yield from (inner for inner in elements_of(element) if is_data(inner))


def closure_of(function: FunctionType) -> Iterator[tuple[str, Foreign]]:
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # a cell that is still empty
            continue


def is_one_hot(owner: Foreign, shape: tuple[int, ...]) -> bool:
    """Whether rows of a matrix, a sample of them, hold a single one and zeros."""
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
