"""A shuffle buffer that takes much memory or delays the first batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.input import run_pipelines
from unslow.analyse.input.graph_pipeline import unreadable
from unslow.analyse.input.shuffle_buffers import InflatedBuffer, ShuffleBuffer, shuffle_buffers
from unslow.analyse.memory import account
from unslow.analyse.sketches.pipelines import Made, pipeline_facts
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import CannotJudge, Cause
from unslow.facts.data import BuiltStage
from unslow.facts.memory import MemoryHigh
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.dataset_pipeline import shuffle_first, smaller_shuffle
from unslow.model import Certainty, Evidence, Finding, Fix, Location, Phase, Refusal, Run

# Of the machine's memory; a judgement: a larger buffer leaves too little for the rest.
_MOST_MEMORY = 0.25
# Of the training, spent filling the buffer; a judgement: filling once is the price of shuffling.
_MOST_FILLING = 0.1


@dataclass(frozen=True)
class _Detail:
    size: int  # of a smaller buffer; 0 if it would not mix well
    is_repeatable: bool  # of the map in front of the shuffle


class BigShuffle(Cause):
    """
    What happens

    `shuffle(n)` keeps n elements in memory and reads all of them before it returns the first one,
    again in every epoch. After `batch` it keeps n whole batches.

    Why it is slow

    The buffer holds elements as they are at that point of the pipeline, often decoded images:
    10,000 images of 1 MB each are 10 GB, and the first step waits until all of them have been
    read. When memory runs short, everything slows down.

    The fix

    Shuffle something small: file names or indices, before the data is read. Or use a smaller
    buffer: about fifty batches mix well if the files are read in random order.

    When we are wrong

    The size is the average over the elements that were in the buffer. A dataset sorted by label
    needs a buffer that is large compared to the dataset, or shuffled file names. Where a `cache`
    stands in front of the shuffle, filling the buffer fills the cache, which is needed once.
    """

    title = "a shuffle buffer is too large"
    reads = (*run_pipelines.READS, *account.READS)
    deeper_than = ("input-bound",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for buffer in shuffle_buffers(run):
            where = say.place(run, _nearest_line(buffer))
            is_large = 0 < _MOST_MEMORY * buffer.memory < buffer.bytes
            if is_large or _is_slow(buffer):
                yield self._too_large(where, buffer, is_large)
            elif buffer.inflated is not None and buffer.location is not None:
                yield self._inflated(where, buffer.inflated, buffer.is_repeatable)
        why = unreadable(run)
        if why:
            raise CannotJudge(why)

    def _too_large(self, where: Location, buffer: ShuffleBuffer, is_large: bool) -> Finding:
        is_slow = _is_slow(buffer)
        size = buffer.smaller(quick=is_slow)
        if is_large:
            problem = f", {say.share(buffer.bytes / buffer.memory)} of the memory"
        else:
            problem = f"; filling it takes {say.time(buffer.filling)}"
        shuffle = say.code(where) if buffer.location else f"the shuffle of {say.code(where)}"
        return Finding(
            cause=self.id,
            title=f"{shuffle} holds {buffer.elements:,.0f} elements, "
            f"{say.size(buffer.bytes)}{problem}",
            location=where,
            seconds=buffer.saved(size),
            certainty=Certainty.MEASURED if is_slow else Certainty.LIKELY,
            evidence=(
                Evidence("elements in the buffer", round(buffer.elements)),
                Evidence("bytes of an element", round(buffer.element_bytes), "B"),
                Evidence("the whole buffer", buffer.bytes, "B"),
                Evidence("memory of the machine", buffer.memory, "B"),
                Evidence("filling it, in this run", buffer.filling, "s"),
                Evidence("batches it holds", round(buffer.elements / buffer.per_batch)),
            ),
            grows=is_large,
            frees=buffer.inflated.frees if buffer.inflated is not None else 0.0,
            advice=_advice(buffer, size),
            detail=_Detail(size if size < buffer.elements else 0, buffer.is_repeatable),
            in_first_step=buffer.pipeline.in_python,
        )

    def _inflated(self, where: Location, buffer: InflatedBuffer, is_repeatable: bool) -> Finding:
        return Finding(
            cause=self.id,
            title=f"{say.code(where)} holds {say.size(buffer.held)} of mapped elements, "
            f"{buffer.factor:.1f} times their size before the map: ≈{say.size(buffer.frees)} of "
            f"the {say.size(buffer.peak)} at the peak",
            location=where,
            seconds=0.0,
            frees=buffer.frees,
            certainty=Certainty.LIKELY,
            evidence=(
                Evidence("the buffer at its largest", buffer.held, "B"),
                Evidence("bytes of an element", round(buffer.element), "B"),
                Evidence("bytes of an element before the map", round(buffer.before), "B"),
                Evidence("peak of memory", buffer.peak, "B"),
            ),
            advice="Call `shuffle` before `map`: the order of the elements is as random.",
            detail=_Detail(0, is_repeatable),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, detail = finding.place, finding.detail_of(_Detail)
        try:
            return shuffle_first(script, where.line, detail.is_repeatable)
        except CannotEdit:
            if detail.size:
                return smaller_shuffle(script, where.line, detail.size)
        return Refusal("a smaller buffer would not mix well: shuffle file names or indices", where)


def _nearest_line(buffer: ShuffleBuffer) -> Location:
    """The shuffle's line; where it was built before the recording, the line that uses it."""
    return buffer.location or buffer.pipeline.location or buffer.loop.location


def _is_slow(buffer: ShuffleBuffer) -> bool:
    is_long = buffer.filling > _MOST_FILLING * buffer.loop.total and not buffer.cached
    return is_long and buffer.elements > 2 * buffer.enough


def _advice(buffer: ShuffleBuffer, size: int) -> str:
    advice = "Shuffle file names or indices before they are read"
    if size >= buffer.elements:
        return f"{advice}."
    return (
        f"{advice}, or use a smaller buffer: {size:,} elements are "
        f"{size / buffer.per_batch:.0f} batches and {say.size(size * buffer.element_bytes)}."
    )


def _shuffle(size: int, buffered: float, length: int = -2, runs_as: str = "") -> Made:
    return Made(
        "Shuffle",
        1e-5,
        runs_as,
        line=6,
        elements=32,
        bytes=100_000,
        buffered=buffered,
        asked=BuiltStage(kind="Shuffle", buffer_size=size, length=length),
    )


_READER = Made("TFRecord", 1e-4, line=5, elements=32)
_BATCH = Made("Batch", 1e-5, "BatchV2", line=7, asked=BuiltStage(kind="Batch", batch_size=32))


_DECODER = Made("Map", 1e-4, line=5, elements=32, bytes=100_000)
_HIGH = {"rss": [0.65e9, 1.4e9, 1.4e9]}


def _reached(size: float) -> Placed:
    return at(30, MemoryHigh(bytes=size, rss=size, stack=stack_at(12)))


_FEW_WAITS = {Phase.INPUT: 0.05, Phase.RUN: 0.9}


def _buffer(says: str, shuffle: Made) -> Sketch:
    facts = pipeline_facts(_READER, shuffle, _BATCH, wait=1e-4)
    return Sketch(says, phases=_FEW_WAITS, facts=facts)


def _after_decoding(says: str, encoded: float, runs_as: str = "") -> Sketch:
    """A buffer of decoded elements, which take up this many bytes before."""
    reader = Made("TFRecord", 1e-4, line=4, elements=32, bytes=encoded)
    shuffle = _shuffle(10_000, 5000, runs_as=runs_as)
    stages = pipeline_facts(reader, _DECODER, shuffle, _BATCH, wait=1e-4)
    facts = [*stages, _reached(1.4e9)]
    return Sketch(says, phases=_FEW_WAITS, facts=facts, ticks=_HIGH)


BigShuffle.FIRES = (
    _buffer("a buffer of 4.8 GB on a machine with 16 GB", _shuffle(48_000, 48_000)),
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
    _after_decoding("decoded elements in the buffer are a third of the peak", 25_000),
    _after_decoding("the same in front of a repetition", 25_000, "ShuffleAndRepeat"),
)
BigShuffle.QUIET = (
    Sketch(
        "filling the buffer fills the cache in front of it",
        seconds=[0.5] + [0.01] * 99,
        phases={Phase.INPUT: [0.95] + [0.02] * 99, Phase.RUN: [0.04] + [0.9] * 99},
        facts=pipeline_facts(
            _READER,
            Made("Cache", 1e-5, line=5, asked=BuiltStage(kind="Cache")),
            _shuffle(20_000, 20_000),
            _BATCH,
            wait=1e-4,
        ),
    ),
    _after_decoding("elements are as large in front of the map", 90_000),
    _buffer("a buffer of fifty batches", _shuffle(1600, 1600)),
    _buffer("a large number that the data does not fill", _shuffle(1_000_000, 1600, length=1600)),
)
