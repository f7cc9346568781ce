"""Buffers of pipelines that hold more than is ever used: repeated caches, long prefetches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from unslow.analyse.input.cached_repeats import cached_repeat
from unslow.analyse.places import shown
from unslow.analyse.stats.robust import ratio
from unslow.facts.data import Dataset, ModelNode, PipelineReading
from unslow.model import Location, Run

_IN_MEMORY = "MemoryCacheImpl"  # the node of a cache in tf.data's model, on 2.17 to 2.21
# Elements that bridge the slow ones among them; a judgement: AUTOTUNE seldom takes as many.
_ENOUGH_AHEAD = 16
_FEWEST_PASSES = 1.5  # in the cache: with less there is nothing to free


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


@dataclass(frozen=True)
class LongPrefetch:
    """A prefetch that was asked to hold far more elements than a step needs."""

    location: Location
    elements: float
    bytes: float

    @property
    def frees(self) -> float:
        return self.bytes * (1 - _ENOUGH_AHEAD / self.elements)


def repeated_caches(run: Run, process: int) -> Iterator[RepeatedCache]:
    for dataset in run.facts(Dataset, process):
        found = cached_repeat(dataset.stages)
        location = shown(run, found.cache.stack) if found is not None else None
        held = _largest(run, dataset, _IN_MEMORY)
        if found is None or location is None or held is None:
            continue
        passes = ratio(held.buffered, found.in_a_pass)
        if passes >= _FEWEST_PASSES:
            repeat = shown(run, found.repeat.stack)
            yield RepeatedCache(location, repeat, held.buffered_bytes, passes, found.obstacle)


def long_prefetches(run: Run, process: int) -> Iterator[LongPrefetch]:
    for dataset in run.facts(Dataset, process):
        asked = [stage for stage in dataset.stages if stage.kind == "Prefetch"]
        location = shown(run, asked[0].stack) if len(asked) == 1 else None
        held = _largest(run, dataset, "Prefetch")
        if location is None or held is None or (asked[0].buffer_size or 0) <= _ENOUGH_AHEAD:
            continue
        if held.buffered > _ENOUGH_AHEAD:
            yield LongPrefetch(location, held.buffered, held.buffered_bytes)


def _largest(run: Run, dataset: Dataset, name: str) -> ModelNode | None:
    """The buffer of a stage when it held most."""
    readings = run.facts(PipelineReading, dataset.process)
    own = [reading for reading in readings if reading.dataset == dataset.dataset]
    nodes = chain.from_iterable(reading.nodes for reading in own)
    named = [node for node in nodes if node.name == name]
    return max(named, key=lambda node: node.buffered_bytes, default=None)
