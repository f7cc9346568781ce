"""A shuffle buffer that takes much memory or delays the first batch."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.input import pipeline as pipeline_module
from unslow.analyse.input.pipeline import Pipeline, Stage, pipelines, shuffle_elements
from unslow.analyse.memory.account import READS as MEMORY_READS
from unslow.analyse.memory.account import Part, is_worth_freeing, memory_account
from unslow.analyse.sketches.pipelines import Made, pipeline_facts
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause
from unslow.facts.data import BuiltStage
from unslow.facts.memory import MemoryHigh
from unslow.facts.schema import Place
from unslow.model import Certainty, Evidence, Finding, Fix, Loop, Phase, Refusal, Run

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script

_OF_RAM = 0.25  # of the machine's memory: more for one buffer leaves too little for the rest
_SMALL = 0.05  # of the machine's memory: what a smaller buffer may take
_OF_TRAINING = 0.1  # of the training time spent filling
_INFLATED = 2.0  # times the size in front of a map: then shuffling in front of it saves half
_FEWEST_BATCHES = 50  # a smaller buffer does not mix well (judgement)


@dataclass(frozen=True)
class _Smaller:
    size: int  # 0 where a smaller buffer would not mix well


@dataclass(frozen=True)
class _Buffer:
    """A shuffle's buffer when it is full."""

    elements: float
    element_bytes: float
    per_batch: float  # elements that a batch takes from it
    filling: float  # seconds of the run
    memory: float  # bytes of the machine

    @property
    def bytes(self) -> float:
        return self.elements * self.element_bytes

    @property
    def enough(self) -> float:
        return _FEWEST_BATCHES * self.per_batch

    @property
    def large(self) -> bool:
        return self.memory > 0 and self.bytes > _OF_RAM * self.memory

    def is_slow(self, loop: Loop) -> bool:
        return self.filling > _OF_TRAINING * loop.total and self.elements > 2 * self.enough

    def smaller(self, slow: bool) -> int:
        """A power of two that mixes well, and where memory is the problem uses a part of it."""
        fitting = self.enough
        if not slow:
            most = _SMALL * self.memory / max(self.element_bytes, 1.0)
            fitting = max(fitting, min(self.elements / 2, most))
        return int(2 ** math.ceil(math.log2(fitting)))


def _shuffle(size: int, buffered: float, length: int = -2) -> Made:
    return Made(
        "Shuffle",
        1e-5,
        line=6,
        elements=32,
        bytes=100_000,
        buffered=buffered,
        asked=BuiltStage(kind="Shuffle", buffer_size=size, length=length),
    )


_READER = Made("TFRecord", 1e-4, line=5, elements=32)
_BATCH = Made("Batch", 1e-5, "BatchV2", line=7, asked=BuiltStage(kind="Batch", batch_size=32))


_DECODED = (
    Made("Map", 1e-4, line=5, elements=32, bytes=100_000),
    _shuffle(10_000, 5000),
    _BATCH,
)
_HIGH = {"rss": [0.65e9, 1.4e9, 1.4e9]}


def _reached(size: float) -> Placed:
    return at(30, MemoryHigh(bytes=size, rss=size, stack=(Place("train.py", 12, "<module>"),)))


class BigShuffle(Cause):
    """
    What happens

    `shuffle(n)` keeps n elements in memory and reads all of them before it gives out the first
    one, again in every epoch. Behind `batch` it keeps n whole batches.

    Why it is slow

    What stands in front of the shuffle (often decoded images) is kept in full: a buffer of 10,000
    images of a megabyte each is 10 GB, and the first step waits until they have all been read.
    Near the end of the memory everything becomes slow.

    The fix

    Shuffle what is small: file names or indices, before they are read. Or use a smaller buffer:
    about fifty batches already mix well if the files themselves come in a random order.

    When we are wrong

    The size is the average of the elements that were in the buffer. A dataset that is sorted by
    label needs a buffer that is large compared to it, or shuffled file names.
    """

    title = "a shuffle buffer is too large"
    reads = (*pipeline_module.READS, *MEMORY_READS)
    deeper_than = ("input-bound",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for pipeline in pipelines(run):
            loops = [one for one in run.loops if _is_fed_by(one, pipeline)]
            if not loops:
                continue
            slowest = max(loops, key=lambda loop: _filling(loop, pipeline))
            for stage in pipeline.stages:
                if stage.kind == "Shuffle" and stage.asked.kind:
                    yield from self._judge(run, slowest, pipeline, stage)

    def _judge(self, run: Run, loop: Loop, pipeline: Pipeline, stage: Stage) -> Iterable[Finding]:
        per_batch = _elements_per_batch(pipeline, stage)
        buffer = _Buffer(
            elements=_held(pipeline, stage, per_batch),
            element_bytes=_element_bytes(stage),
            per_batch=per_batch,
            filling=_filling(loop, pipeline),
            memory=_memory(run, pipeline.process),
        )
        slow = buffer.is_slow(loop)
        inflated = _inflated(run, pipeline, stage)
        if not (buffer.large or slow):
            if inflated is not None and stage.location is not None:
                yield self._too_early(run, stage, inflated)
            return
        place = say.place(run, stage.location or pipeline.location or loop.location)
        shuffle = say.code(place) if stage.location else f"the shuffle of {say.code(place)}"
        smaller = buffer.smaller(slow)
        text = f"{shuffle} holds {buffer.elements:,.0f} elements, {say.size(buffer.bytes)}"
        share = f", {say.share(buffer.bytes / max(1.0, buffer.memory))} of the memory"
        delay = f"; filling it takes {say.time(buffer.filling)}"
        advice = "Shuffle file names or indices before they are read"
        if smaller < buffer.elements:
            advice += (
                f", or use a smaller buffer: {smaller:,} elements are "
                f"{smaller / buffer.per_batch:.0f} batches and "
                f"{say.size(smaller * buffer.element_bytes)}"
            )
        yield Finding(
            cause=self.id,
            title=text + (share if buffer.large else delay),
            location=place,
            seconds=_saved(loop, pipeline, buffer, smaller),
            certainty=Certainty.MEASURED if slow else Certainty.LIKELY,
            evidence=(
                Evidence("elements in the buffer", round(buffer.elements)),
                Evidence("bytes of an element", round(buffer.element_bytes), "B"),
                Evidence("the whole buffer", buffer.bytes, "B"),
                Evidence("memory of the machine", buffer.memory, "B"),
                Evidence("filling it, in this run", buffer.filling, "s"),
                Evidence("batches it holds", round(buffer.elements / buffer.per_batch)),
            ),
            grows=buffer.large,
            frees=inflated.frees if inflated is not None else 0.0,
            advice=f"{advice}.",
            detail=_Smaller(smaller if smaller < buffer.elements else 0),
            in_first_step=pipeline.in_python,
        )

    def _too_early(self, run: Run, stage: Stage, inflated: _Inflated) -> Finding:
        """A map in front of the shuffle has made its elements larger."""
        assert stage.location is not None
        place = say.place(run, stage.location)
        held, larger = inflated.held, inflated.larger
        return Finding(
            cause=self.id,
            title=f"{say.code(place)} holds {say.size(held)} of mapped elements, {larger:.1f} "
            "times "
            f"what they take in front of the map: ≈{say.size(inflated.frees)} of the "
            f"{say.size(inflated.peak)} at the peak",
            location=place,
            seconds=0.0,
            frees=inflated.frees,
            certainty=Certainty.LIKELY,
            evidence=(
                Evidence("the buffer at its largest", held, "B"),
                Evidence("bytes of an element", round(_element_bytes(stage)), "B"),
                Evidence("bytes of an element in front of the map", round(inflated.before), "B"),
                Evidence("peak of memory", inflated.peak, "B"),
            ),
            advice="Call `shuffle` in front of the `map`; the order of the elements is as random.",
            detail=_Smaller(0),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.edit.script import CannotEdit
        from unslow.fix.moves.dataset_pipeline import shuffle_first, smaller_shuffle

        where, detail = finding.location, finding.detail
        assert where is not None and isinstance(detail, _Smaller)
        try:
            return shuffle_first(script, where.line)
        except CannotEdit:
            pass
        if not detail.size:
            return Refusal(
                "a smaller buffer would no longer mix the batches: shuffle what is small", where
            )
        return smaller_shuffle(script, where.line, detail.size)

    FIRES = (
        Sketch(
            "a buffer of 4.8 GB on a machine with 16 GB",
            phases={Phase.INPUT: 0.05, Phase.RUN: 0.9},
            facts=pipeline_facts(_READER, _shuffle(48_000, 48_000), _BATCH, wait=1e-4),
        ),
        Sketch(
            "filling the buffer takes a third of a short run",
            seconds=[0.5] + [0.01] * 99,
            phases={Phase.INPUT: [0.95] + [0.02] * 99, Phase.RUN: [0.04] + [0.9] * 99},
            facts=pipeline_facts(_READER, _shuffle(20_000, 20_000), _BATCH, wait=1e-4),
        ),
        Sketch(
            "a shuffle of 1,000 batches holds up the first step of each of four passes",
            seconds=([0.5] + [0.01] * 24) * 4,
            phases={Phase.INPUT: ([0.95] + [0.02] * 24) * 4, Phase.RUN: 0.04},
            facts=pipeline_facts(
                _READER,
                Made("Batch", 1e-5, "BatchV2", line=5, asked=_BATCH.asked),
                _shuffle(1000, 1000),
                wait=1e-4,
                passes=4,
            ),
        ),
        Sketch(
            "decoded elements in the buffer are a third of the peak",
            phases={Phase.INPUT: 0.05, Phase.RUN: 0.9},
            facts=[
                *pipeline_facts(
                    Made("TFRecord", 1e-4, line=4, elements=32, bytes=25_000), *_DECODED, wait=1e-4
                ),
                _reached(1.4e9),
            ],
            ticks=_HIGH,
        ),
    )
    QUIET = (
        Sketch(
            "elements are as large in front of the map",
            phases={Phase.INPUT: 0.05, Phase.RUN: 0.9},
            facts=[
                *pipeline_facts(
                    Made("TFRecord", 1e-4, line=4, elements=32, bytes=90_000), *_DECODED, wait=1e-4
                ),
                _reached(1.4e9),
            ],
            ticks=_HIGH,
        ),
        Sketch(
            "a buffer of fifty batches",
            phases={Phase.INPUT: 0.05, Phase.RUN: 0.9},
            facts=pipeline_facts(_READER, _shuffle(1600, 1600), _BATCH, wait=1e-4),
        ),
        Sketch(
            "a large number that the data does not fill",
            phases={Phase.INPUT: 0.05, Phase.RUN: 0.9},
            facts=pipeline_facts(
                _READER, _shuffle(1_000_000, 1600, length=1600), _BATCH, wait=1e-4
            ),
        ),
    )


def _is_fed_by(loop: Loop, pipeline: Pipeline) -> bool:
    start, stop = pipeline.span
    same = loop.process == pipeline.process and not pipeline.evaluates
    return same and loop.stop > start and loop.start < stop


def _element_bytes(stage: Stage) -> float:
    if stage.buffered >= 1 and stage.buffered_bytes > 0:
        return stage.buffered_bytes / stage.buffered
    return stage.bytes or float(stage.asked.bytes)


@dataclass(frozen=True)
class _Inflated:
    """A buffer that is much of the peak, since a map made its elements larger; in bytes."""

    held: float
    before: float  # an element, in front of the map
    larger: float  # times
    peak: float

    @property
    def frees(self) -> float:
        return self.held * (1 - 1 / self.larger)


def _inflated(run: Run, pipeline: Pipeline, stage: Stage) -> _Inflated | None:
    account = memory_account(run)
    before = _before_maps(pipeline, stage)
    if account is None or not before:
        return None
    buffers = [part for part in account.parts if part.part is Part.BUFFER]
    held = max((each.bytes for each in buffers if each.name == stage.kind), default=0.0)
    found = _Inflated(held, before, _element_bytes(stage) / before, account.peak)
    is_much = found.larger >= _INFLATED and is_worth_freeing(account, found.frees)
    return found if is_much else None


def _held(pipeline: Pipeline, stage: Stage, per_batch: float) -> float:
    """Elements in the full buffer: what was asked for, or all of a dataset that has fewer."""
    asked = shuffle_elements(stage.asked)
    seen = max(stage.buffered, pipeline.length * per_batch)
    return min(asked, seen) if asked and seen else asked or seen


def _before_maps(pipeline: Pipeline, shuffle: Stage) -> float:
    """Bytes of an element in front of the maps that feed a shuffle; 0 without any, or unknown."""
    upstream = pipeline.stages[pipeline.stages.index(shuffle) + 1 :]
    source = next((stage for stage in upstream if stage.kind != "Map"), None)
    return source.bytes if source is not None and source is not upstream[0] else 0.0


def _elements_per_batch(pipeline: Pipeline, shuffle: Stage) -> float:
    """Elements of a shuffle in a batch: one where whole batches are shuffled."""
    below = pipeline.stages[pipeline.stages.index(shuffle) + 1 :]
    shuffles_batches = any(stage.asked.batch_size for stage in below)
    return 1.0 if shuffles_batches else pipeline.batch_size


def _memory(run: Run, process: int) -> float:
    """Bytes that the process may use; 0 where they are unknown."""
    machine = next((one.machine for one in run.processes if one.index == process), {})
    limits = [machine.get(name) for name in ("memory_bytes", "limit_bytes")]
    return float(min((value for value in limits if value), default=0))


def _saved(loop: Loop, pipeline: Pipeline, buffer: _Buffer, smaller: int) -> float:
    saved = buffer.filling * max(0.0, 1 - smaller / buffer.elements)
    if pipeline.length * buffer.per_batch > buffer.elements / 2:
        # The data in the buffer is needed: a smaller one only lets steps run meanwhile.
        return min(saved, loop.total - buffer.filling)
    return saved


def _filling(loop: Loop, pipeline: Pipeline) -> float:
    """Seconds that first batches of iterators took above the usual, the first step included."""
    column = loop.phases[:, Phase.INPUT if pipeline.in_python else Phase.RUN]
    rows = {int(row) for row in np.searchsorted(loop.end, pipeline.made)}
    # The first compiled step takes long for other reasons, too.
    first = 0 if pipeline.in_python else 1
    usual = float(np.median(column))
    return sum(max(0.0, float(column[row]) - usual) for row in rows if first <= row < len(column))
