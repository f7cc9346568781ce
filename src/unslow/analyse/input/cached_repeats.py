"""A cache behind a repetition: it keeps the elements of every pass, and serves none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unslow.analyse.input.overlay import base
from unslow.facts.data import BuiltStage

_MAPS = ("Map", "Filter")  # a function of each element by itself
_HARMLESS = ("Prefetch", "Options")
_BATCHES = ("Batch", "PaddedBatch")


@dataclass(frozen=True)
class CachedRepeat:
    """The two stages, and what keeps the repetition from being moved behind the cache."""

    cache: BuiltStage
    repeat: BuiltStage
    count: int
    obstacle: str  # empty where there is none

    @property
    def in_a_pass(self) -> float:
        """Elements of one pass in the cache; negative where it is not known."""
        return self.cache.length / self.count


def cached_repeat(stages: Sequence[BuiltStage]) -> CachedRepeat | None:
    """The cache of a pipeline, where it is in memory and holds a known number of passes."""
    caches = [position for position, stage in enumerate(stages) if stage.kind == "Cache"]
    if len(caches) != 1 or stages[caches[0]].file:
        return None
    below = _upstream(stages, caches[0])
    repeats = [stage for stage in below if stage.kind == "Repeat" and (stage.count or 0) > 1]
    if len(repeats) != 1 or any(map(_differs, below)):
        return None
    repeat = repeats[0]
    return CachedRepeat(stages[caches[0]], repeat, repeat.count or 1, _obstacle(below, repeat))


def _differs(stage: BuiltStage) -> bool:
    """Whether passes may differ, and be cached so on purpose: as many variants of each element."""
    return stage.random or stage.python


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
