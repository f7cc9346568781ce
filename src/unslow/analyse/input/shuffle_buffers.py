"""The buffers of shuffles: what they hold, and how long they take to fill."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unslow.analyse.input.pipeline import Pipeline, Stage, shuffle_elements
from unslow.analyse.input.run_pipelines import pipelines
from unslow.analyse.memory.account import is_worth_freeing, memory_account
from unslow.analyse.memory.parts import Part
from unslow.analyse.memory.process_memory import limit
from unslow.facts.data import BuiltStage
from unslow.model import Location, Loop, Phase, Run

_FEWEST_BATCHES = 50  # a judgement: a smaller buffer does not mix well
_SMALL = 0.05  # of the machine's memory; a judgement: what a smaller buffer may take
_INFLATED = 2.0  # times the size before a map; a judgement: shuffling before it saves half


@dataclass(frozen=True)
class ShuffleBuffer:
    """A shuffle's buffer when it is full."""

    location: Location | None  # of the shuffle; None where it was built before the recording
    pipeline: Pipeline
    loop: Loop  # of the loops that it feeds, the one that waits longest for it
    elements: float
    element_bytes: float
    per_batch: float  # elements that a batch takes from it
    filling: float  # seconds of the loop
    memory: float  # bytes of the machine; 0 if unknown
    inflated: InflatedBuffer | None
    cached: bool  # filling it fills a cache in front of it, once
    is_repeatable: bool  # the map in front of it gives the same result whenever it is called

    @property
    def bytes(self) -> float:
        return self.elements * self.element_bytes

    @property
    def enough(self) -> float:
        """Elements that mix well."""
        return _FEWEST_BATCHES * self.per_batch

    def smaller(self, quick: bool) -> int:
        """A size that mixes well: one that fills quickly, or one that fits into memory."""
        most = _SMALL * self.memory / max(self.element_bytes, 1.0)
        size = self.enough if quick else max(self.enough, min(self.elements / 2, most))
        return int(2 ** math.ceil(math.log2(size)))

    def saved(self, size: int) -> float:
        """Seconds that a smaller buffer would save."""
        saved = self.filling * max(0.0, 1 - size / self.elements)
        is_needed = self.pipeline.length * self.per_batch > self.elements / 2
        # The data must be read anyway: a smaller buffer only lets steps run meanwhile.
        return min(saved, self.loop.total - self.filling) if is_needed else saved


@dataclass(frozen=True)
class InflatedBuffer:
    """A buffer that is much of the peak because maps made its elements larger; in bytes."""

    held: float
    element: float
    before: float  # the same element before the maps
    peak: float  # of the process

    @property
    def factor(self) -> float:
        return self.element / self.before

    @property
    def frees(self) -> float:
        return self.held * (1 - 1 / self.factor)


def shuffle_buffers(run: Run) -> Iterator[ShuffleBuffer]:
    """Every buffer that feeds a loop."""
    for pipeline in pipelines(run):
        loops = [loop for loop in run.loops if pipeline.is_seen_in(loop)]
        if pipeline.evaluates or not loops:
            continue
        loop = max(loops, key=lambda one: _filling(one, pipeline))
        for index, stage in enumerate(pipeline.stages):
            if stage.kind == "Shuffle" and stage.asked.kind:
                upstream = pipeline.stages[index + 1 :]
                yield _buffer(run, loop, pipeline, stage, upstream)


def _buffer(
    run: Run, loop: Loop, pipeline: Pipeline, stage: Stage, upstream: Sequence[Stage]
) -> ShuffleBuffer:
    shuffles_batches = any(other.asked.batch_size for other in upstream)
    per_batch = 1.0 if shuffles_batches else pipeline.batch_size
    return ShuffleBuffer(
        location=stage.location,
        pipeline=pipeline,
        loop=loop,
        elements=_held(stage, pipeline.length * per_batch),
        element_bytes=_element_bytes(stage),
        per_batch=per_batch,
        filling=_filling(loop, pipeline),
        memory=limit(run.processes[pipeline.process]),
        inflated=_inflated(run, stage, _before_maps(upstream)),
        cached=any(other.asked.kind == "Cache" for other in upstream),
        is_repeatable=any(_is_repeatable(other.asked) for other in upstream[:1]),
    )


def _held(stage: Stage, length: float) -> float:
    """Elements in the full buffer: what was asked for, or all of a dataset that has fewer."""
    asked = shuffle_elements(stage.asked)
    seen = max(stage.buffered, length)
    return min(asked, seen) if asked and seen else asked or seen


def _element_bytes(stage: Stage) -> float:
    if stage.buffered >= 1 and stage.buffered_bytes > 0:
        return stage.buffered_bytes / stage.buffered
    return stage.bytes or float(stage.asked.bytes)


def _is_repeatable(stage: BuiltStage) -> bool:
    """Whether the function of a map was seen, and neither calls Python nor draws random numbers."""
    return bool(stage.types) and not stage.python and not stage.random


def _before_maps(upstream: Sequence[Stage]) -> float:
    """Bytes of an element before the maps that feed a shuffle; 0 without maps, or if unknown."""
    maps = [stage.kind for stage in upstream[:1]] == ["Map"]
    source = next((stage for stage in upstream if stage.kind != "Map"), None)
    return source.bytes if maps and source is not None else 0.0


def _inflated(run: Run, stage: Stage, before: float) -> InflatedBuffer | None:
    account = memory_account(run) if before else None
    if account is None:
        return None
    buffers = [part for part in account.parts if part.part is Part.BUFFER]
    held = max((part.bytes for part in buffers if part.name == stage.name), default=0.0)
    found = InflatedBuffer(held, _element_bytes(stage), before, account.peak)
    is_much = found.factor >= _INFLATED and is_worth_freeing(account, found.frees)
    return found if is_much else None


def _filling(loop: Loop, pipeline: Pipeline) -> float:
    """Seconds by which the first batches of iterators took longer than usual."""
    column = loop.phases[:, Phase.INPUT if pipeline.in_python else Phase.RUN]
    # The first compiled step takes long for other reasons, too.
    first = 0 if pipeline.in_python else 1
    rows = {int(row) for row in np.searchsorted(loop.end, pipeline.made)}
    waits = [float(column[row]) for row in rows if first <= row < len(column)]
    usual = float(np.median(column))
    return sum(max(0.0, wait - usual) for wait in waits)
