"""What the peak of a process's memory consists of: who holds it, at which line, and what is left over."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from unslow.analyse.memory.bindings import names_of
from unslow.analyse.memory.container_growth import growth_line
from unslow.analyse.memory.process_memory import limit
from unslow.facts.data import BuiltStage, Dataset, PipelineReading
from unslow.facts.functions import Constants
from unslow.facts.memory import Built, Holding, Inventory, MemoryHigh, Weights
from unslow.facts.schema import Place, Stack
from unslow.model import Location, Process, Run

READS = (Inventory, MemoryHigh, Built, Weights, Dataset, PipelineReading, Constants)
_SOURCES = ("Tensor", "TensorSlice")  # stages of a pipeline that hold all of their data


class Part(enum.Enum):
    """Who holds a part of the memory."""

    START = "TensorFlow itself"
    HELD = "your arrays and containers"
    STATE = "weights, gradients and optimizer state"
    SOURCE = "arrays in datasets"
    BUFFER = "pipeline buffers"
    CONSTANT = "constants in graphs"
    SLACK = "allocator slack"
    REST = "activations, temporaries and the rest"


@dataclass(frozen=True)
class MemoryPart:
    """Some bytes of the peak under one name."""

    part: Part
    name: str
    bytes: float
    location: Location | None = None


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

    @property
    def start(self) -> float:
        return sum(each.bytes for each in self.parts if each.part is Part.START)

    @property
    def rest(self) -> float:
        """What no other part explains."""
        return sum(each.bytes for each in self.parts if each.part is Part.REST)


def memory_account(run: Run) -> MemoryAccount | None:
    """None where the memory of no process was inspected."""
    accounts = [found for each in run.processes if (found := _account(run, each)) is not None]
    return max(accounts, key=lambda account: account.peak, default=None)


def _account(run: Run, process: Process) -> MemoryAccount | None:
    highs = [high for high in run.facts(MemoryHigh) if high.process == process.index]
    sizes = process.ticks.columns.get("rss", np.zeros(0))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
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
        *_slack(process, highest.time),
    ]
    known = sum(part.bytes for part in parts)
    parts = [part for part in parts if part.bytes]
    parts.append(MemoryPart(Part.REST, "what no other part explains", max(0.0, peak - known)))
    return MemoryAccount(
        process=process.index,
        peak=peak,
        at=_location(run, highest.stack),
        time=highest.time,
        limit=limit(process),
        parts=tuple(parts),
        held=held,
    )


def largest_inventory(run: Run, process: Process) -> tuple[Holding, ...]:
    """What the user's names held when they held most; which call an array was given to is kept."""
    taken = [each for each in run.facts(Inventory) if each.process == process.index]
    if not taken:
        return ()
    fed = {_key(each): each.fed for inventory in taken for each in inventory.held if each.fed}
    largest = max(reversed(taken), key=lambda each: sum(one.bytes for one in each.held))
    return tuple(each.replace(fed=fed.get(_key(each), "")) for each in largest.held)


def _key(held: Holding) -> tuple[object, ...]:
    return held.file, held.function, held.path, held.shape


def holding_line(run: Run, held: Holding) -> Location | None:
    """The line that binds the name, or that fills the container."""
    source = run.sources.get(held.file, "")
    root = held.path.partition(".")[0].partition("[")[0]
    line = None
    if held.type not in ("array", "tensor"):
        line = growth_line(source, held.path)
    line = line or names_of(source, held.function).line_of(root)
    if line is None:
        return None
    return Location(held.file, line, held.function, run.line(held.file, line))


def _holding(run: Run, held: Holding) -> MemoryPart:
    sides = " × ".join(f"{side:,}" for side in held.shape)
    name = f"`{held.path}`: {held.type} of {held.dtype}, {sides}"
    return MemoryPart(Part.HELD, name, held.bytes, holding_line(run, held))


def _state(run: Run, process: Process) -> Iterator[MemoryPart]:
    weights = [each for each in run.facts(Weights) if each.process == process.index]
    stacks = [each.stack for each in weights if each.stack]
    where = _location(run, stacks[0]) if stacks else None
    sizes = {"variables": 0.0, "slots": 0.0}
    for built in run.facts(Built):
        if built.process == process.index and built.what in sizes:
            sizes[built.what] += built.bytes
    gradients = max((each.bytes for each in weights), default=0.0)
    yield MemoryPart(Part.STATE, "variables", sizes["variables"], where)
    yield MemoryPart(Part.STATE, "optimizer state", sizes["slots"], where)
    yield MemoryPart(Part.STATE, "gradients", gradients, where)


def source_stages(run: Run, process: int) -> Iterator[tuple[Dataset, BuiltStage]]:
    """The stages of pipelines that hold all of their data as tensors."""
    for dataset in run.facts(Dataset):
        if dataset.process != process:
            continue
        for stage in dataset.stages:
            if stage.kind in _SOURCES and stage.bytes:
                yield dataset, stage


def _sources(run: Run, process: Process) -> Iterator[MemoryPart]:
    sizes: dict[Stack, float] = {}  # by line: one pipeline may be described repeatedly
    for _, stage in source_stages(run, process.index):
        size = float(stage.bytes) * max(1, stage.length)
        sizes[stage.stack[:1]] = max(sizes.get(stage.stack[:1], 0.0), size)
    for stack, size in sizes.items():
        yield MemoryPart(Part.SOURCE, "data of a pipeline", size, _location(run, stack))


def _buffers(run: Run, process: Process) -> Iterator[MemoryPart]:
    largest: dict[str, float] = {}  # by stage
    for reading in run.facts(PipelineReading):
        if reading.process != process.index:
            continue
        for node in reading.nodes:
            largest[node.name] = max(largest.get(node.name, 0.0), node.buffered_bytes)
    for name, size in largest.items():
        if size:
            yield MemoryPart(Part.BUFFER, name, size)


def _constants(run: Run, process: Process) -> Iterator[MemoryPart]:
    largest: dict[str, MemoryPart] = {}  # by function: it may be traced repeatedly
    for found in run.facts(Constants):
        if found.process != process.index:
            continue
        name, known = f"`{found.name}`", largest.get(f"`{found.name}`")
        if known is None or known.bytes < found.bytes:
            where = _location(run, found.stack)
            largest[name] = MemoryPart(Part.CONSTANT, name, float(found.bytes), where)
    yield from largest.values()


def _slack(process: Process, time: float) -> Iterator[MemoryPart]:
    slack = process.ticks.columns.get("heap_slack")
    if slack is None or not np.isfinite(slack).any():
        return
    known = np.isfinite(slack)
    nearest = int(np.abs(process.ticks.time[known] - time).argmin())
    yield MemoryPart(Part.SLACK, "kept by the C library", float(slack[known][nearest]))


def _location(run: Run, stack: Iterable[Place]) -> Location | None:
    place = next(iter(stack), None)
    if place is None:
        return None
    return Location(place.file, place.line, place.function, run.line(place.file, place.line))


def elements(held: Holding) -> int:
    """Numbers in an array, or in all arrays of a container."""
    return math.prod(held.shape)
