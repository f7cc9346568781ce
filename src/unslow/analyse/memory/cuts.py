"""What of a peak of memory the program could do without: the reason, bytes and line of each."""

from __future__ import annotations

import enum
import math
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.grouping import grouped, largest_of_each
from unslow.analyse.memory import account as memory_account
from unslow.analyse.memory.account import (
    CONSTANT_COPIES,
    MemoryAccount,
    elements,
    holding_line,
    source_stages,
)
from unslow.analyse.memory.activations import calls_outside_steps, most_between, most_until
from unslow.analyse.memory.bindings import Names, names_of
from unslow.analyse.memory.call_growth import CallGrowth, is_in_loop
from unslow.analyse.memory.copied_arrays import copies_by_origin
from unslow.analyse.memory.intermediates import BLOCKS, COPIES, intermediate
from unslow.analyse.memory.parts import Part
from unslow.analyse.memory.pipeline_buffers import (
    RepeatedCache,
    long_prefetches,
    repeated_caches,
)
from unslow.analyse.places import by_users, function_of
from unslow.facts.data import BuiltStage, Dataset
from unslow.facts.keras import Fit, Prediction, Validation
from unslow.facts.memory import Broadcast, Holding, MemoryHigh, ModelCall, Weights
from unslow.model import Location, Run

READS = (*memory_account.READS, Prediction, Fit, Broadcast)
_FLOAT32 = 4  # bytes of a number
_KERAS_BATCH = 32  # the batch of fit, evaluate and predict where none is given
_LARGER_BATCH = 4  # times that of fit: below, the batch is no reason for a peak
_NEAR_PEAK = 0.9  # of the peak: a call that comes so close to it made most of it
_ON_BATCH = "_on_batch"  # predict_on_batch, test_on_batch: all rows are one batch
_ONE_ELEMENT = 32 << 20  # bytes of a single element of a pipeline that holds all of the data
_MOST_OF_TEMPORARIES = 0.5  # else the peak may have been reached by something else (judgement)
_SEEN = 0.8  # of a tensor's bytes, at least, in temporaries: other parts are estimates (judgement)
_INSTALLED = "-packages/"  # site-packages and dist-packages: not the user's own functions


class Reason(enum.Enum):
    """Why memory is held that the work does not need."""

    ONE_HOT = "one-hot labels"
    WIDE = "float64 data for a float32 model"
    COPY = "a copy that nothing reads any more"
    BATCH = "a batch far larger than that of fit"
    ONE_BATCH = "all rows in one batch"
    VALIDATION = "a validation batch far larger than that of fit"
    ONE_ELEMENT = "a dataset with a single element"
    CONSTANT = "arrays baked into a graph"
    BROADCAST = "a broadcast that is reduced at once"
    CALL = "a model called with all rows at once"
    OPS = "a large intermediate result of eager ops"
    REPEATED = "a cache behind a repetition"
    PREFETCH = "a prefetch of far more than a step needs"


@dataclass(frozen=True)
class Cut:
    """One thing that could go."""

    reason: Reason
    frees: float  # bytes of the peak
    location: Location | None
    name: str  # the user's name for it, or the call
    instead: str = ""  # what the reason needs to say more: the batch of fit, the name of a copy
    after: int = 0  # of a copy: the line after which nothing reads it
    dropped: float = math.inf  # of a copy: bytes of the peak that go if it is dropped there
    copies: tuple[str, ...] = ()  # names of what was made from it, which goes with it
    cache: RepeatedCache | None = None
    rows: str = ""  # of a call: how many it was given
    needs: str = ""  # of a call: the memory that it takes in batches


def cuts_of(run: Run, account: MemoryAccount) -> list[Cut]:
    """All of them, the largest first; what one frees no other counts again."""
    labels = list(_one_hot(run, account))
    sparse = {name for cut in labels for name in (cut.name, *cut.copies)}
    copies = [cut for cut in _copies(run, account) if cut.name not in sparse]
    gone = sparse.union(cut.name for cut in copies)
    wide = list(_wide(run, account, gone))
    found = [*labels, *copies, *wide, *_batches(run, account)]
    found += [*_single_elements(run, account), *_constants(account)]
    found += [*_broadcasts(run, account), *_repeated(run, account), *_prefetched(run, account)]
    found += _single_calls(run, account)
    return sorted(found, key=lambda cut: -cut.frees)


def _one_hot(run: Run, account: MemoryAccount) -> Iterator[Cut]:
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


def _wide(run: Run, account: MemoryAccount, gone: Container[str]) -> Iterator[Cut]:
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


def _copies(run: Run, account: MemoryAccount) -> Iterator[Cut]:
    """Data that another name holds as well, in another form, and that nothing reads afterwards."""
    named = [held for held in account.held if held.path.isidentifier()]
    by_scope = grouped(named, lambda held: (held.file, held.function))
    for scope, group in by_scope.items():
        names = names_of(run.sources.get(scope[0], ""), scope[1])
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


def _batches(run: Run, account: MemoryAccount) -> Iterator[Cut]:
    """Predictions and evaluations that reached the peak, with a batch far beyond that of fit."""
    usual = f"{_fit_batch(run, account.process):.0f}"
    for call in run.facts(Prediction, account.process):
        on_batch = call.call.endswith(_ON_BATCH)
        used = call.rows if on_batch else min(_number(call.batch_size), call.rows)
        frees = _freed_by_batch(run, account, call, used)
        if frees > 0:
            reason = Reason.ONE_BATCH if on_batch else Reason.BATCH
            yield Cut(reason, frees, say.place(run, call.stack[0]), call.call, instead=usual)
    for made in run.facts(Validation, account.process):
        used = min(_number(made.batch_size), made.rows)
        frees = _freed_by_batch(run, account, made, used)
        if frees > 0 and made.stack:
            where = say.place(run, made.stack[0])
            yield Cut(Reason.VALIDATION, frees, where, f"{used:.0f}", instead=usual)


def _freed_by_batch(
    run: Run, account: MemoryAccount, call: Prediction | Validation, used: float
) -> float:
    """Bytes of the peak that the batch of fit would not need in a call; 0 where it is alike."""
    usual = _fit_batch(run, account.process)
    highs = run.facts(MemoryHigh, account.process)
    began = call.time - call.took
    inside = most_between(highs, began, call.time)
    if inside < _NEAR_PEAK * account.peak or used < _LARGER_BATCH * usual:
        return 0.0
    before = most_until(highs, began, otherwise=account.start)
    return (inside - before) * (1 - usual / used)


def _fit_batch(run: Run, process: int) -> float:
    """The batch that training used: of fit, or the one that is usual."""
    calls = run.facts(Fit, process)
    largest = max((_number(call.batch_size) for call in calls), default=0.0)
    return largest or float(_KERAS_BATCH)


def _number(value: object) -> float:
    """A batch size that was given as a number; 0 for anything else."""
    return float(value) if isinstance(value, int | float) else 0.0


def _single_elements(run: Run, account: MemoryAccount) -> Iterator[Cut]:
    """A function of the user's that is mapped over one element, which holds all of the data."""
    stages = source_stages(run, account.process)
    single = [(stage, _mapped_bytes(of, stage)) for of, stage in stages if stage.kind == "Tensor"]
    large = [(stage, size) for stage, size in single if stage.stack and size >= _ONE_ELEMENT]
    by_line = largest_of_each(large, lambda pair: pair[0].stack[0], lambda pair: pair[1])
    for place, (_, size) in by_line.items():
        frees = float(np.clip(account.unowned, size, COPIES * size))
        yield Cut(Reason.ONE_ELEMENT, frees, say.place(run, place), say.size(size))


def _mapped_bytes(dataset: Dataset, source: BuiltStage) -> float:
    """Bytes that a function of the user's makes of the one element; 0 where none is mapped."""
    position = dataset.stages.index(source)
    for stage in dataset.stages:
        is_users = stage.function is not None and _INSTALLED not in stage.function.file
        if position in stage.inputs and is_users:
            return float(max(stage.bytes, source.bytes))
    return 0.0


def _constants(account: MemoryAccount) -> Iterator[Cut]:
    for part in account.parts:
        if part.part is Part.CONSTANT:
            least, most = (times * part.bytes for times in CONSTANT_COPIES)
            frees = float(np.clip(account.unowned, least, most))
            yield Cut(Reason.CONSTANT, frees, part.location, say.size(part.bytes))


def _broadcasts(run: Run, account: MemoryAccount) -> Iterator[Cut]:
    """Large tensors that are only made to be reduced, where they are most of the temporaries."""
    made = by_users(run.facts(Broadcast, account.process))
    # By line: a function may be traced repeatedly.
    by_line = largest_of_each(made, lambda found: found.stack[0], lambda found: found.bytes)
    temporary = account.held_by(Part.TEMPORARY, Part.REST)
    for place, found in by_line.items():
        if temporary < _SEEN * found.bytes:
            continue  # XLA or the optimizer of graphs left it out
        frees = min(temporary, min(found.copies, COPIES) * found.bytes)
        if frees >= _MOST_OF_TEMPORARIES * temporary:
            sides = " × ".join(f"{side:,}" for side in found.shape)
            left = say.size(found.result)
            yield Cut(Reason.BROADCAST, frees, say.place(run, place), sides, left)


def _repeated(run: Run, account: MemoryAccount) -> Iterator[Cut]:
    """Caches that hold several passes; by line, since a pipeline may be described repeatedly."""
    found = repeated_caches(run, account.process)
    by_line = largest_of_each(found, lambda one: one.location, lambda one: one.frees)
    for where, cache in by_line.items():
        passes = f"{cache.passes:.0f}"
        yield Cut(Reason.REPEATED, cache.frees, where, say.size(cache.bytes), passes, cache=cache)


def _prefetched(run: Run, account: MemoryAccount) -> Iterator[Cut]:
    found = long_prefetches(run, account.process)
    by_line = largest_of_each(found, lambda one: one.location, lambda one: one.frees)
    for where, buffer in by_line.items():
        held = f"{buffer.elements:,.0f}"
        yield Cut(Reason.PREFETCH, buffer.frees, where, say.size(buffer.bytes), held)


def _single_calls(run: Run, account: MemoryAccount) -> Iterator[Cut]:
    """Calls of models and ops outside of steps that reached the peak, with all rows at once."""
    calls = calls_outside_steps(run, account.process, account.start)
    near = [each for each in calls if each.level >= _NEAR_PEAK * account.peak]
    by_line = largest_of_each(near, lambda grown: grown.place, lambda grown: grown.bytes)
    for place, grown in by_line.items():
        where = say.place(run, place)
        if grown.call is not None:
            freed = _freed_in(account, grown, where)
            yield from _model_call(run, account, grown.call, freed, where)
            continue
        made = intermediate(run, account, grown)
        if made is not None:
            freed = _freed_in(account, grown, where) + made.held
            sides = " × ".join(f"{side:,}" for side in made.shape)
            yield Cut(
                Reason.OPS,
                freed * (1 - 1 / BLOCKS),
                where,
                sides,
                instead=f"{math.ceil(made.shape[0] / BLOCKS):,}",
                needs=say.size(freed / BLOCKS),
            )


def _freed_in(account: MemoryAccount, grown: CallGrowth, where: Location | None) -> float:
    """Bytes of temporaries of the peak that a call took."""
    at_peak = account.at if grown.last == account.time else where
    temporary = (part for part in account.parts if part.part is Part.TEMPORARY)
    return min(grown.bytes, sum(p.bytes for p in temporary if p.location in (where, at_peak)))


def _model_call(
    run: Run, account: MemoryAccount, call: ModelCall, freed: float, where: Location | None
) -> Iterator[Cut]:
    usual = _fit_batch(run, account.process)
    if call.rows < _LARGER_BATCH * usual or _is_batch_of_loop(run, account, call):
        return
    share = usual / call.rows
    yield Cut(
        Reason.CALL,
        freed * (1 - share),
        where,
        call.name,
        instead=f"{usual:.0f}",
        rows=f"{call.rows:,}",
        needs=say.size(freed * share),
    )


def _is_batch_of_loop(run: Run, account: MemoryAccount, call: ModelCall) -> bool:
    """Whether the rows are a part that a loop takes, whose size was chosen.

    A loop may also give a model all rows in each turn: those of an array made before it.
    """
    if not is_in_loop(run, call.stack):
        return False
    whole = (held for held in account.held if held.shape and held.shape[0] == call.rows)
    return not any(_is_made_once(run, held) for held in whole)


def _is_made_once(run: Run, held: Holding) -> bool:
    names = names_of(run.sources.get(held.file, ""), held.function)
    bindings = names.bindings.get(held.path, ())
    return bool(bindings) and not any(binding.in_loop for binding in bindings)
