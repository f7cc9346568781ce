"""What of a peak of memory the program could do without: the reason, bytes and line of each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.grouping import largest_of_each
from unslow.analyse.memory import account as memory_account
from unslow.analyse.memory import step_rows
from unslow.analyse.memory.account import CONSTANT_COPIES, MemoryAccount, source_stages
from unslow.analyse.memory.array_cuts import copies, one_hot, wide
from unslow.analyse.memory.call_cuts import large_batches, single_calls
from unslow.analyse.memory.cut import Cut, Reason
from unslow.analyse.memory.intermediates import COPIES
from unslow.analyse.memory.parts import Part
from unslow.analyse.memory.pipeline_buffers import long_prefetches, repeated_caches
from unslow.analyse.places import by_users
from unslow.facts.data import BuiltStage, Dataset
from unslow.facts.keras import Prediction
from unslow.facts.memory import Broadcast
from unslow.model import Run

READS = (*memory_account.READS, *step_rows.READS, Prediction, Broadcast)
_ONE_ELEMENT = 32 << 20  # bytes of a single element of a pipeline that holds all of the data
_MOST_OF_TEMPORARIES = 0.5  # else the peak may have been reached by something else (judgement)
_SEEN = 0.8  # of a tensor's bytes, at least, in temporaries: other parts are estimates (judgement)
_INSTALLED = "-packages/"  # site-packages and dist-packages: not the user's own functions


def cuts_of(run: Run, account: MemoryAccount) -> list[Cut]:
    """All of them, the largest first; what one frees no other counts again."""
    labels = list(one_hot(run, account))
    sparse = {name for cut in labels for name in (cut.name, *cut.copies)}
    copied = [cut for cut in copies(run, account) if cut.name not in sparse]
    gone = sparse.union(cut.name for cut in copied)
    found = [*labels, *copied, *wide(run, account, gone), *large_batches(run, account)]
    found += [*_single_elements(run, account), *_constants(account)]
    found += [*_broadcasts(run, account), *_repeated(run, account), *_prefetched(run, account)]
    found += single_calls(run, account)
    return sorted(found, key=lambda cut: -cut.frees)


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
            sides, left = say.sides(found.shape), say.size(found.result)
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
