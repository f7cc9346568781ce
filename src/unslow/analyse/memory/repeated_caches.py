"""What caches behind a repetition hold: the elements of several passes, of which one would do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from unslow.analyse.input.cached_repeats import cached_repeat
from unslow.analyse.places import shown
from unslow.analyse.stats.robust import ratio
from unslow.facts.data import Dataset, PipelineReading
from unslow.model import Location, Run

_IN_MEMORY = "MemoryCacheImpl"  # the node of a cache in tf.data's model, on 2.17 to 2.21
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


def repeated_caches(run: Run, process: int) -> Iterator[RepeatedCache]:
    readings = run.facts(PipelineReading, process)
    for dataset in run.facts(Dataset, process):
        found = cached_repeat(dataset.stages)
        location = shown(run, found.cache.stack) if found is not None else None
        if found is None or location is None:
            continue
        own = [reading for reading in readings if reading.dataset == dataset.dataset]
        nodes = chain.from_iterable(reading.nodes for reading in own)
        held = [node for node in nodes if node.name == _IN_MEMORY]
        largest = max(held, key=lambda node: node.buffered_bytes, default=None)
        passes = ratio(largest.buffered, found.in_a_pass) if largest is not None else 0.0
        if largest is not None and passes >= _FEWEST_PASSES:
            repeat = shown(run, found.repeat.stack)
            size = largest.buffered_bytes
            yield RepeatedCache(location, repeat, size, passes, found.obstacle)
