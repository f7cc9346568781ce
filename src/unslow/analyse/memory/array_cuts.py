"""Arrays and their copies that a program could hold in less memory, or not at all."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from unslow.analyse.grouping import grouped
from unslow.analyse.memory.account import MemoryAccount, elements, holding_line
from unslow.analyse.memory.bindings import Names, names_in
from unslow.analyse.memory.copied_arrays import copies_by_origin
from unslow.analyse.memory.cut import Cut, Reason
from unslow.analyse.places import function_of
from unslow.facts.memory import Holding, MemoryHigh, Weights
from unslow.model import Run

_FLOAT32 = 4  # bytes of a number


def one_hot(run: Run, account: MemoryAccount) -> Iterator[Cut]:
    """Integer labels take a number per row; Keras also copies what it is given as float32."""
    arrays = [held for held in account.held if held.one_hot]
    for origin, family in copies_by_origin(run, arrays).items():
        frees = sum(held.bytes + _cast_bytes(account, held) for held in family)
        names = tuple(held.path for held in family if held is not origin)
        where, classes = holding_line(run, origin), f"{origin.shape[-1]:,}"
        yield Cut(Reason.ONE_HOT, frees, where, origin.path, instead=classes, copies=names)


def _cast_bytes(account: MemoryAccount, held: Holding) -> float:
    """What Keras's float32 copies of an array take at the peak."""
    casts = 1 if held.dtype == "float32" else 2
    return float(casts * _FLOAT32 * elements(held)) if _is_at_call(account, held) else 0.0


def _is_at_call(account: MemoryAccount, held: Holding) -> bool:
    """Whether the peak was reached in the call that the array was given to."""
    return bool(held.fed) and account.at is not None and f".{held.fed}(" in account.at.code


def wide(run: Run, account: MemoryAccount, gone: Container[str]) -> Iterator[Cut]:
    """Arrays of float64 that a model in float32 was given, and those that they were copied from."""
    weights = run.facts(Weights, account.process)
    if not weights or any(each.wide_bytes for each in weights):
        return
    arrays = [held for held in account.held if _is_wide(held) and held.path not in gone]
    for origin, family in copies_by_origin(run, arrays).items():
        if not any(held.fed for held in family):
            continue
        frees = sum(held.bytes / 2 * (1 + _is_at_call(account, held)) for held in family)
        names = tuple(held.path for held in family if held is not origin)
        yield Cut(Reason.WIDE, frees, holding_line(run, origin), origin.path, copies=names)


def _is_wide(held: Holding) -> bool:
    return not held.one_hot and held.dtype == "float64"


def copies(run: Run, account: MemoryAccount) -> Iterator[Cut]:
    """Data that another name holds as well, in another form, and that nothing reads afterwards."""
    named = [held for held in account.held if held.path.isidentifier()]
    by_scope = grouped(named, lambda held: (held.file, held.function))
    for scope, group in by_scope.items():
        names = names_in(run, *scope)
        for held in group:
            others = [each for each in group if each.path != held.path]
            alike = [each.path for each in others if elements(each) == elements(held)]
            other, line = _read_last_for(held.path, alike, names)
            if other:
                where = holding_line(run, held)
                dropped = account.peak - _high_until(run, account.process, scope, line)
                yield Cut(Reason.COPY, held.bytes, where, held.path, other, line, dropped)


def _high_until(run: Run, process: int, function: tuple[str, str], last: int) -> float:
    """The most memory while a function was at a line or before it: all copies were needed then."""
    highs = run.facts(MemoryHigh, process)
    before = (high.bytes for high in highs if _is_before(high, function, last))
    return max(before, default=0.0)


def _is_before(high: MemoryHigh, function: tuple[str, str], last: int) -> bool:
    frames = [frame for frame in high.stack if function_of(frame) == function]
    return any(frame.line <= last for frame in frames)


def _read_last_for(name: str, others: Iterable[str], names: Names) -> tuple[str, int]:
    """The name that is made from this one by the statement that reads it last; with its line.

    An empty name where there is none.
    """
    if name in names.captured or name not in names.bindings:
        return "", 0
    last = names.last_read(name)
    for other in others:
        for binding in names.bindings.get(other, ()):
            is_last = last in range(binding.line, binding.last_line + 1)
            if is_last and binding.reads(name) and not binding.in_loop:
                return other, binding.last_line
    return "", 0
