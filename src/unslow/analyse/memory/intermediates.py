"""Large tensors that eager ops make on the way to their result, with all rows at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from unslow.analyse.memory.account import MemoryAccount
from unslow.analyse.memory.call_growth import CallGrowth, is_in_loop
from unslow.analyse.places import function_of
from unslow.facts.memory import Holding, Inventory
from unslow.facts.schema import Place, Stack
from unslow.model import Run
from unslow.syntax.nodes import words

BLOCKS = 16  # of rows, in the place of all at once: what is left is small beside the rest
# Copies of a large tensor that a chain of ops holds at once, at most (measured: 3 on 2.21).
COPIES = 4
_FAR_LARGER = 4  # times the data: below, the rows are no reason for a peak (judgement)
# Eager ops that compute each row by itself, whose results a loop over blocks of rows would reduce
# one by one; a decomposition of a matrix needs all of it. By their functions in TensorFlow.
_BY_ROW = words(
    "abs add_v2 arg_max arg_min batch_mat_mul batch_mat_mul_v2 batch_mat_mul_v3 broadcast_to cast"
    " div_no_nan einsum equal exp expand_dims greater greater_equal less less_equal log mat_mul"
    " maximum mean minimum mul neg _pow _sum _max _min real_div rsqrt select_v2 sqrt square"
    " squared_difference sub tanh tile top_kv2"
)
_MODULE = "<module>"


@dataclass(frozen=True)
class Intermediate:
    """The largest tensor that the ops of a call made on the way to their result."""

    shape: tuple[int, ...]
    held: float  # bytes of the account's that names of the function hold


def intermediate(run: Run, account: MemoryAccount, grown: CallGrowth) -> Intermediate | None:
    """A tensor far larger than all data, of which each row is used by itself, and then none.

    Rows that a loop takes are left alone: their number was chosen.
    """
    if not grown.ops or not grown.ops <= _BY_ROW or is_in_loop(run, grown.stack):
        return None
    taken = run.facts(Inventory, account.process)
    inside = [each for each in taken if _is_inside(each.stack, grown.place)]
    last = max([grown.last, *(each.time for each in inside)])
    later = [each for each in taken if each.time > last]
    if not later:
        return None  # what became of it was not seen
    largest, shape = _largest(_own_tensors(taken, grown.place), inside)
    if COPIES * largest < grown.bytes or shape[0] < BLOCKS:
        return None
    if largest < _FAR_LARGER * max(_data(taken, grown.place), _unnamed(later)):
        return None
    at_peak = (each.bytes for each in account.held if _is_own_tensor(each, grown.place))
    return Intermediate(shape, sum(at_peak))


def _own_tensors(taken: Iterable[Inventory], place: Place) -> list[Holding]:
    held = (each for inventory in taken for each in inventory.held)
    return [each for each in held if _is_own_tensor(each, place)]


def _largest(own: Iterable[Holding], inside: Iterable[Inventory]) -> tuple[float, tuple[int, ...]]:
    """Bytes and shape of the largest tensor of a call, with a name or without one."""
    seen = [(each.bytes, each.shape) for each in own]
    seen += [(each.unnamed.largest, each.unnamed.shape) for each in inside if each.unnamed]
    return max(seen, default=(0.0, (0,)))


def _data(taken: Sequence[Inventory], place: Place) -> float:
    """Bytes of the largest array that the program has beside the tensors of the call."""
    held = (each for inventory in taken for each in inventory.held)
    return max((each.bytes for each in held if not _is_own_tensor(each, place)), default=0.0)


def _unnamed(taken: Iterable[Inventory]) -> float:
    return max((each.unnamed.largest for each in taken if each.unnamed), default=0.0)


def _is_inside(stack: Stack, place: Place) -> bool:
    """Whether a function was under way, or a line of a module's own."""
    if place.function == _MODULE:
        return place in stack
    return any(function_of(frame) == function_of(place) for frame in stack)


def _is_own_tensor(held: Holding, place: Place) -> bool:
    """Whether a tensor is a local one of the function that a line is in."""
    is_local = (held.file, held.function) == function_of(place) and place.function != _MODULE
    return is_local and held.type == "tensor"
