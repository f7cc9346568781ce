"""Calls of models and ops that take far more memory than the same work in batches."""

from __future__ import annotations

import math
from collections.abc import Iterator

from unslow.analyse import wording as say
from unslow.analyse.grouping import largest_of_each
from unslow.analyse.memory.account import MemoryAccount
from unslow.analyse.memory.activations import calls_outside_steps, most_between, most_until
from unslow.analyse.memory.bindings import names_in
from unslow.analyse.memory.call_growth import CallGrowth, is_in_loop
from unslow.analyse.memory.cut import Cut, Reason
from unslow.analyse.memory.data_calls import DataCall
from unslow.analyse.memory.intermediates import BLOCKS, intermediate
from unslow.analyse.memory.parts import Part
from unslow.analyse.memory.step_rows import number, rows_of_step, training_rows
from unslow.facts.keras import Prediction, Validation
from unslow.facts.memory import Holding, MemoryHigh
from unslow.model import Location, Run

_LARGER_BATCH = 4  # times that of training: below, the batch is no reason for a peak
_NEAR_PEAK = 0.9  # of the peak: a call that comes so close to it made most of it
_ON_BATCH = "_on_batch"  # predict_on_batch, test_on_batch: all rows are one batch


def large_batches(run: Run, account: MemoryAccount) -> Iterator[Cut]:
    """Predictions and evaluations that reached the peak, with a batch far beyond training's."""
    usual = f"{training_rows(run, account.process):.0f}"
    for call in run.facts(Prediction, account.process):
        on_batch = call.call.endswith(_ON_BATCH)
        used = call.rows if on_batch else min(number(call.batch_size), call.rows)
        frees = _freed_by_batch(run, account, call, used)
        if frees > 0:
            reason = Reason.ONE_BATCH if on_batch else Reason.BATCH
            yield Cut(reason, frees, say.place(run, call.stack[0]), call.call, instead=usual)
    for made in run.facts(Validation, account.process):
        used = min(number(made.batch_size), made.rows)
        frees = _freed_by_batch(run, account, made, used)
        if frees > 0 and made.stack:
            where = say.place(run, made.stack[0])
            yield Cut(Reason.VALIDATION, frees, where, f"{used:.0f}", instead=usual)


def _freed_by_batch(
    run: Run, account: MemoryAccount, call: Prediction | Validation, used: float
) -> float:
    """Bytes of the peak that training's batch would not need in a call; 0 where it is alike."""
    usual = training_rows(run, account.process)
    highs = run.facts(MemoryHigh, account.process)
    began = call.time - call.took
    inside = most_between(highs, began, call.time)
    if inside < _NEAR_PEAK * account.peak or used < _LARGER_BATCH * usual:
        return 0.0
    before = most_until(highs, began, otherwise=account.start)
    return (inside - before) * (1 - usual / used)


def single_calls(run: Run, account: MemoryAccount) -> Iterator[Cut]:
    """Calls of models and ops outside of steps that reached the peak, with all rows at once."""
    calls = calls_outside_steps(run, account.process, account.start)
    near = [each for each in calls if each.level >= _NEAR_PEAK * account.peak]
    by_line = largest_of_each(near, lambda grown: grown.place, lambda grown: grown.bytes)
    for place, grown in by_line.items():
        where = say.place(run, place)
        if grown.call is not None:
            freed = _freed_in(account, grown, where)
            cut_of = _compiled_call if grown.call.compiled else _model_call
            yield from cut_of(run, account, grown.call, freed, where)
            continue
        made = intermediate(run, account, grown)
        if made is not None:
            freed = _freed_in(account, grown, where) + made.held
            yield Cut(
                Reason.OPS,
                freed * (1 - 1 / BLOCKS),
                where,
                say.sides(made.shape),
                instead=f"{math.ceil(made.shape[0] / BLOCKS):,}",
                needs=say.size(freed / BLOCKS),
            )


def _freed_in(account: MemoryAccount, grown: CallGrowth, where: Location | None) -> float:
    """Bytes of temporaries of the peak that a call took."""
    at_peak = account.at if grown.last == account.time else where
    temporary = (part for part in account.parts if part.part is Part.TEMPORARY)
    return min(grown.bytes, sum(p.bytes for p in temporary if p.location in (where, at_peak)))


def _model_call(
    run: Run, account: MemoryAccount, call: DataCall, freed: float, where: Location | None
) -> Iterator[Cut]:
    usual = training_rows(run, account.process)
    if call.rows >= _LARGER_BATCH * usual and not _is_batch_of_loop(run, account, call):
        yield _fewer_rows(Reason.CALL, call, usual, freed, where)


def _compiled_call(
    run: Run, account: MemoryAccount, call: DataCall, freed: float, where: Location | None
) -> Iterator[Cut]:
    """A compiled function with far more rows than a step takes of the same kind."""
    usual = rows_of_step(run, account.process, call)
    if usual and call.rows >= _LARGER_BATCH * usual:
        yield _fewer_rows(Reason.COMPILED, call, usual, freed, where)


def _fewer_rows(
    reason: Reason, call: DataCall, usual: float, freed: float, where: Location | None
) -> Cut:
    share = usual / call.rows
    return Cut(
        reason,
        freed * (1 - share),
        where,
        call.name,
        instead=f"{usual:.0f}",
        rows=f"{call.rows:,}",
        needs=say.size(freed * share),
    )


def _is_batch_of_loop(run: Run, account: MemoryAccount, call: DataCall) -> bool:
    """Whether the rows are a part that a loop takes, whose size was chosen.

    A loop may also give a model all rows in each turn: those of an array made before it.
    """
    if not is_in_loop(run, call.stack):
        return False
    whole = (held for held in account.held if held.shape and held.shape[0] == call.rows)
    return not any(_is_made_once(run, held) for held in whole)


def _is_made_once(run: Run, held: Holding) -> bool:
    bindings = names_in(run, held.file, held.function).bindings.get(held.path, ())
    return bool(bindings) and not any(binding.in_loop for binding in bindings)
