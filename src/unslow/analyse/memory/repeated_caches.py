"""Caches behind a repetition: they keep the elements of every pass, and serve none of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from unslow.analyse.input.overlay import base
from unslow.analyse.places import shown
from unslow.analyse.stats.robust import ratio
from unslow.facts.data import BuiltStage, Dataset, PipelineReading
from unslow.model import Location, Run

_IN_MEMORY = "MemoryCacheImpl"  # the node of a cache in tf.data's model, on 2.17 to 2.21
_FEWEST_PASSES = 1.5  # in the cache: with less there is nothing to free
_MAPS = ("Map", "Filter")  # a function of each element by itself
_HARMLESS = ("Prefetch", "Options", "Cache")
_BATCHES = ("Batch", "PaddedBatch")


@dataclass(frozen=True)
class RepeatedCache:
    """A cache in memory that is filled with the elements of several passes."""

    location: Location
    repeat: Location | None
    bytes: float
    passes: float  # that it held
    obstacle: str  # why the repetition cannot simply be moved behind it; empty where it can

    @property
    def frees(self) -> float:
        """Bytes of all passes but one."""
        return self.bytes * (1 - 1 / self.passes)


def repeated_caches(run: Run, process: int) -> Iterator[RepeatedCache]:
    for dataset in run.facts(Dataset, process):
        caches = [position for position, one in enumerate(dataset.stages) if _is_in_memory(one)]
        if len(caches) == 1:
            yield from _repeated(run, dataset, caches[0])


def _is_in_memory(stage: BuiltStage) -> bool:
    return stage.kind == "Cache" and not stage.file


def _repeated(run: Run, dataset: Dataset, position: int) -> Iterator[RepeatedCache]:
    cache, below = dataset.stages[position], _upstream(dataset.stages, position)
    repeats = [one for one in below if one.kind == "Repeat" and (one.count or 0) > 1]
    location = shown(run, cache.stack)
    # What differs from pass to pass may be cached so on purpose: as many variants of each element.
    differs = any(one.random or one.python for one in below)
    if len(repeats) != 1 or location is None or differs:
        return
    repeat = repeats[0]
    readings = [one for one in run.facts(PipelineReading) if _is_over(one, dataset)]
    nodes = chain.from_iterable(reading.nodes for reading in readings)
    held = [node for node in nodes if node.name == _IN_MEMORY]
    largest = max(held, key=lambda node: node.buffered_bytes, default=None)
    in_a_pass = cache.length / (repeat.count or 1)
    if largest is None:
        return
    passes = ratio(largest.buffered, in_a_pass)
    if passes >= _FEWEST_PASSES:
        size = largest.buffered_bytes
        obstacle = _obstacle(below, repeat)
        yield RepeatedCache(location, shown(run, repeat.stack), size, passes, obstacle)


def _is_over(reading: PipelineReading, dataset: Dataset) -> bool:
    return (reading.process, reading.dataset) == (dataset.process, dataset.dataset)


def _upstream(stages: Sequence[BuiltStage], position: int) -> list[BuiltStage]:
    """The stages that one reads from, up to the first that has several inputs."""
    found = []
    inputs = stages[position].inputs
    while len(inputs) == 1 and inputs[0] < len(stages):
        found.append(stages[inputs[0]])
        inputs = stages[inputs[0]].inputs
    return found


def _obstacle(below: Sequence[BuiltStage], repeat: BuiltStage) -> str:
    """What a repetition behind the cache would change."""
    between = below[: below.index(repeat)]
    one_pass = below[below.index(repeat) + 1].length if repeat is not below[-1] else 0
    if any(base(stage.kind) == "Shuffle" for stage in below):
        return "a shuffle in front of the cache would give every pass the same order"
    for stage in between:
        kind = base(stage.kind)
        is_divided = one_pass > 0 and one_pass % (stage.batch_size or 1) == 0
        if kind in _BATCHES and not is_divided:
            return "a batch holds the end of one pass and the beginning of the next"
        if kind not in (*_MAPS, *_HARMLESS, *_BATCHES):
            return f"`{kind}` stands between the repetition and the cache"
    return ""
