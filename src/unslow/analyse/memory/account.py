"""What the peak of a process's memory consists of: who holds it, and at which line."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.grouping import known, largest_of_each
from unslow.analyse.input.dataset_variants import built_stages
from unslow.analyse.memory import data_calls
from unslow.analyse.memory.activations import activations
from unslow.analyse.memory.bindings import names_of
from unslow.analyse.memory.container_growth import growth_line
from unslow.analyse.memory.parts import MemoryPart, Part
from unslow.analyse.memory.process_memory import limit
from unslow.analyse.places import shown
from unslow.facts.data import BuiltStage, Dataset, PipelineReading
from unslow.facts.functions import Constants
from unslow.facts.keras import Prediction, Validation
from unslow.facts.memory import Built, Holding, Inventory, Live, MemoryHigh, Weights
from unslow.facts.schema import Place
from unslow.model import Location, Process, Run

if TYPE_CHECKING:
    from unslow.model import Floats

READS = (
    *data_calls.READS,
    MemoryHigh,
    Built,
    Weights,
    Dataset,
    PipelineReading,
    Constants,
    Live,
    Prediction,
    Validation,
)
_SOURCES = ("Tensor", "TensorSlice")  # stages of a pipeline that hold all of their data

# Judgements: below, a smaller peak changes nothing for the user.
_LEAST_BYTES = 150e6
_LARGE_SHARE = 0.25  # of the peak
_NEAR_LIMIT = 0.85  # of what the process may use: then a tenth of the peak is worth having
WORTH_NAMING = 0.1  # of the peak: a smaller part is no finding of its own

# A constant in a traced graph is in its proto, the optimized graph and the runtime. On TensorFlow
# 2.21 a matrix of 92 MB cost 1.76 GB at the peak, 19 times its size.
CONSTANT_COPIES = 2, 20
_LARGE_CONSTANT = 10e6  # bytes: copies of a smaller one are lost among other small things


@dataclass(frozen=True)
class MemoryAccount:
    """The peak of the process that used most memory."""

    process: int
    peak: float
    at: Location | None  # the user's line at which the peak was reached
    time: float
    limit: float  # bytes that the process may use; 0 where it is not known
    parts: tuple[MemoryPart, ...]
    held: tuple[Holding, ...] = ()  # what the user's names held, the largest first

    def held_by(self, *owners: Part) -> float:
        return sum(each.bytes for each in self.parts if each.part in owners)

    @property
    def start(self) -> float:
        return self.held_by(Part.START)

    @property
    def rest(self) -> float:
        """What no other part explains."""
        return self.held_by(Part.REST)

    @property
    def large_growth(self) -> float:
        """Bytes gained in the later steps, where they are a real part of the peak."""
        gained = self.held_by(Part.GROWTH)
        return gained if is_worth_freeing(self, gained) else 0.0

    @property
    def unowned(self) -> float:
        """What nobody is known to hold: temporaries, copies, and what no other part explains."""
        return self.held_by(Part.TEMPORARY, Part.COPIES, Part.GROWTH, Part.REST)


def memory_account(run: Run) -> MemoryAccount | None:
    """None where the memory of no process was inspected."""
    accounts = known(_account(run, each) for each in run.processes)
    return max(accounts, key=lambda account: account.peak, default=None)


def _account(run: Run, process: Process) -> MemoryAccount | None:
    highs = run.facts(MemoryHigh, process.index)
    sizes = _known_sizes(process)
    if not highs or not len(sizes):
        return None
    highest = highs[-1]
    peak = max(highest.bytes, float(sizes.max()))
    held = largest_inventory(run, process)
    parts = [
        MemoryPart(Part.START, "after its import", min(float(sizes[0]), peak)),
        *(_holding(run, each) for each in held),
        *_state(run, process),
        *_sources(run, process),
        *_buffers(run, process),
        *_constants(run, process),
        *_kept_functions(run, process),
        *_tensors(run, process, held),
        *_slack(process, highest.time),
    ]
    at = shown(run, highest.stack)
    rest = _unexplained(peak, parts)
    freed = min(rest, _freed_later(process, highest))
    parts.append(MemoryPart(Part.TEMPORARY, "freed after the peak", freed, at))
    parts += _copies_of_constants(parts, rest - freed)
    parts += activations(run, process, _unexplained(peak, parts))
    parts.append(MemoryPart(Part.REST, "what no other part explains", _unexplained(peak, parts)))
    return MemoryAccount(
        process=process.index,
        peak=peak,
        at=at,
        time=highest.time,
        limit=limit(process),
        parts=tuple(part for part in parts if part.bytes),
        held=held,
    )


def _unexplained(peak: float, parts: Iterable[MemoryPart]) -> float:
    return max(0.0, peak - sum(part.bytes for part in parts))


def is_worth_freeing(account: MemoryAccount, frees: float) -> bool:
    """Whether the peak would be much smaller, or no longer near the limit, without some bytes."""
    # What the C library keeps came from parts that were freed before: it is nobody's alone.
    frees = min(frees, account.peak - account.held_by(Part.START, Part.SLACK))
    if account.limit and account.peak >= _NEAR_LIMIT * account.limit:
        return frees >= WORTH_NAMING * account.peak
    return frees >= max(_LEAST_BYTES, _LARGE_SHARE * account.peak)


def largest_inventory(run: Run, process: Process) -> tuple[Holding, ...]:
    """What the user's names held when they held most; which call an array was given to is kept."""
    taken = run.facts(Inventory, process.index)
    largest = max(reversed(taken), key=_held_bytes, default=Inventory())
    everything = itertools.chain.from_iterable(each.held for each in taken)
    fed = {_key(each): each.fed for each in everything if each.fed}
    return tuple(each.replace(fed=fed.get(_key(each), "")) for each in largest.held)


def _held_bytes(inventory: Inventory) -> float:
    return sum(each.bytes for each in inventory.held)


def _key(held: Holding) -> tuple[object, ...]:
    return held.file, held.function, held.path, held.shape


def holding_line(run: Run, held: Holding) -> Location | None:
    """The line that binds the name, or that fills the container."""
    source = run.sources.get(held.file, "")
    root = held.path.partition(".")[0].partition("[")[0]
    grown = growth_line(source, held.path) if held.type not in ("array", "tensor") else None
    line = grown or names_of(source, held.function).line_of(root)
    return shown(run, (Place(held.file, line, held.function),)) if line is not None else None


def _holding(run: Run, held: Holding) -> MemoryPart:
    name = f"`{held.path}`: {held.type} of {held.dtype}, {say.sides(held.shape)}"
    return MemoryPart(Part.HELD, name, held.bytes, holding_line(run, held))


def _state(run: Run, process: Process) -> Iterator[MemoryPart]:
    weights = run.facts(Weights, process.index)
    largest = max(weights, key=lambda each: each.bytes, default=Weights())
    where = shown(run, largest.stack)
    made: Counter[str] = Counter()
    for built in run.facts(Built, process.index):
        made[built.what] += int(built.bytes)
    yield MemoryPart(Part.STATE, "variables", made["variables"], where)
    yield MemoryPart(Part.STATE, "optimizer state", made["slots"], where)
    yield MemoryPart(Part.STATE, "gradients", largest.bytes, where)


def source_stages(run: Run, process: int) -> Iterator[tuple[Dataset, BuiltStage]]:
    """The stages of pipelines that hold all of their data as tensors."""
    for dataset in run.facts(Dataset, process):
        for stage in dataset.stages:
            if stage.kind in _SOURCES and stage.bytes:
                yield dataset, stage


def _sources(run: Run, process: Process) -> Iterator[MemoryPart]:
    stages = [stage for _, stage in source_stages(run, process.index)]
    # By line: one pipeline may be described repeatedly.
    for stage in largest_of_each(stages, lambda stage: stage.stack[:1], _source_bytes).values():
        where = shown(run, stage.stack)
        yield MemoryPart(Part.SOURCE, "data of a pipeline", _source_bytes(stage), where)


def _source_bytes(stage: BuiltStage) -> float:
    return float(stage.bytes) * max(1, stage.length)


def _buffers(run: Run, process: Process) -> Iterator[MemoryPart]:
    readings = run.facts(PipelineReading, process.index)
    nodes = itertools.chain.from_iterable(reading.nodes for reading in readings)
    by_stage = largest_of_each(nodes, lambda node: node.name, lambda node: node.buffered_bytes)
    stages = built_stages(run, process.index)
    cache = next((stage.stack for stage in stages if stage.kind == "Cache"), ())
    for name, node in by_stage.items():
        where = shown(run, cache) if name.endswith("CacheImpl") else None
        yield MemoryPart(Part.BUFFER, name, node.buffered_bytes, where)


def _constants(run: Run, process: Process) -> Iterator[MemoryPart]:
    baked = run.facts(Constants, process.index)
    # By function: it may be traced repeatedly.
    by_function = largest_of_each(baked, lambda each: each.name, lambda each: each.bytes)
    for name, found in by_function.items():
        where = shown(run, found.stack)
        yield MemoryPart(Part.CONSTANT, f"`{name}`", float(found.bytes), where)


def _copies_of_constants(parts: Iterable[MemoryPart], unexplained: float) -> Iterator[MemoryPart]:
    """What large constants may take again in each form of a graph, of what is unexplained."""
    for part in parts:
        if part.part is Part.CONSTANT and part.bytes >= _LARGE_CONSTANT:
            size = min(unexplained, (CONSTANT_COPIES[1] - 1) * part.bytes)
            unexplained -= size
            name = f"of {part.name}, in protos, the optimized graph and the runtime"
            yield MemoryPart(Part.COPIES, name, size, part.location)


def _kept_functions(run: Run, process: Process) -> Iterator[MemoryPart]:
    """Arrays that functions given to pipelines close over; TensorFlow never drops these."""
    taken = run.facts(Inventory, process.index)
    for kept in taken[-1].captured if taken else ():
        name = f"arrays that {kept.functions} functions close over"
        yield MemoryPart(Part.KEPT, name, kept.bytes, shown(run, (kept.place,)))


def _tensors(run: Run, process: Process, held: Sequence[Holding]) -> Iterator[MemoryPart]:
    """Tensors that Python holds out of sight: behind a tape, or in an object not searched."""
    counts = run.facts(Live, process.index)
    most = max((each.bytes for each in counts), default=0.0)
    named = sum(each.bytes for each in held if each.type != "array")
    yield MemoryPart(Part.TENSORS, "of tapes, objects and closures", max(0.0, most - named))


def _freed_later(process: Process, highest: MemoryHigh) -> float:
    """Bytes that were in use at the peak only: the process got smaller by them afterwards."""
    sizes = _known_sizes(process, highest.time)
    lowest = min(float(sizes.min(initial=np.inf)), highest.rss or np.inf)
    return max(0.0, highest.bytes - lowest) if np.isfinite(lowest) else 0.0


def _known_sizes(process: Process, since: float = -math.inf) -> Floats:
    """Readings of the process's memory from a moment on."""
    sizes = process.ticks.columns.get("rss", np.zeros(len(process.ticks.time)))
    later: Floats = sizes[process.ticks.time >= since]
    return later[np.isfinite(later) & (later > 0)]


def _slack(process: Process, time: float) -> Iterator[MemoryPart]:
    slack = process.ticks.columns.get("heap_slack")
    if slack is None or not np.isfinite(slack).any():
        return
    known = np.isfinite(slack)
    nearest = int(np.abs(process.ticks.time[known] - time).argmin())
    yield MemoryPart(Part.SLACK, "kept by the C library", float(slack[known][nearest]))


def elements(held: Holding) -> int:
    """Numbers in an array, or in all arrays of a container."""
    return math.prod(held.shape)
