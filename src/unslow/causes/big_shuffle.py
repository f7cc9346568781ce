"""A shuffle buffer that eats memory or holds up the first batch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.input.pipeline import Pipeline, Stage, pipelines
from unslow.analyse.sketches.pipelines import Made, pipeline_facts
from unslow.analyse.sketches.sketch import Sketch
from unslow.cause import Cause
from unslow.model import Certainty, Evidence, Finding, Fix, Loop, Phase, Refusal, Run

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script

_OF_RAM = 0.25  # of the machine's memory: more for one buffer leaves too little for the rest
_SMALL = 0.05  # of the machine's memory: what a smaller buffer may take
_OF_TRAINING = 0.1  # of the training time spent filling
_FEWEST_BATCHES = (
    50  # a buffer below so many batches does not mix well: it is not made smaller than this
)


def _shuffle(size: int, buffered: float, **settings: object) -> Made:
    given = {"buffer_size": size, **settings}
    return Made(
        "Shuffle",
        1e-5,
        line=6,
        elements=32,
        bytes=100_000,
        buffered=buffered,
        settings=tuple(given.items()),
    )


_BATCH = Made("Batch", 1e-5, "BatchV2", line=7, settings=(("batch_size", 32),))


class BigShuffle(Cause):
    """
    What happens

    `shuffle(n)` keeps n elements in memory and fills them before it hands out the first one, again in every epoch.

    Why it is slow

    What stands in front of the shuffle (decoded images, mostly) is kept in full: a buffer of 10,000 pictures of a
    megabyte each is 10 GB, and the first step waits until they have all been read. Near the end of the memory
    everything becomes slow.

    The fix

    Shuffle what is small: file names or indices, before they are read. Or a smaller buffer: some fifty batches already
    mix well if the files themselves come in a random order.

    When we are wrong

    The size is the one of the elements that were in the buffer; where they differ in size it is an average. A data set
    that is sorted by label needs a buffer that is large against it, or shuffled file names.
    """

    title = "a shuffle buffer is too large"
    needs = ("input", "pipeline")
    deeper_than = ("input-bound",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for pipeline in pipelines(run):
            loops = [
                one
                for one in run.loops
                if one.process == pipeline.process and one.stop > pipeline.span[0]
            ]
            loop = next((one for one in loops if one.start < pipeline.span[1]), None)
            if pipeline.evaluates or loop is None:
                continue
            for stage in pipeline.stages:
                if stage.kind == "Shuffle" and stage.location is not None:
                    yield from self._judge(run, loop, pipeline, stage)

    def _judge(self, run: Run, loop: Loop, pipeline: Pipeline, stage: Stage) -> Iterable[Finding]:
        size, each = _held(stage), _element(stage)
        memory = _memory(run, pipeline.process)
        held = size * each
        filling = _filling(loop, pipeline)
        batch = next(
            (float(one["batch_size"]) for one in pipeline.built if "batch_size" in one), 1.0
        )
        enough = max(_FEWEST_BATCHES * batch, 1.0)
        large = memory > 0 and held > _OF_RAM * memory
        slow = filling > _OF_TRAINING * loop.total and size > 2 * enough
        if not (large or slow):
            return
        place = say.place(run, stage.location or loop.location)
        fitting = enough if slow else max(enough, min(size / 2, _SMALL * memory / max(each, 1.0)))
        smaller = 2 ** math.ceil(math.log2(fitting))
        saved = filling * max(0.0, 1 - smaller / size)
        if (
            pipeline.length * batch > size / 2
        ):  # all of it is used: what is saved is only what steps can overlap with
            saved = min(saved, loop.total - filling)
        instead = (
            f", or use a smaller buffer: {smaller:,} elements are {smaller / batch:.0f} batches and "
            f"{say.size(smaller * each)}"
            if smaller < size
            else ""
        )
        text = f"{say.code(place)} holds {size:,.0f} elements, {say.size(held)}"
        title = (
            f"{text}, {say.share(held / memory)} of the memory"
            if large
            else f"{text}; filling it takes {say.time(filling)}"
        )
        yield Finding(
            cause=self.id,
            title=title,
            location=place,
            seconds=saved,
            certainty=Certainty.MEASURED if slow else Certainty.LIKELY,
            evidence=(
                Evidence("elements in the buffer", round(size)),
                Evidence("bytes of an element", round(each), "B"),
                Evidence("the buffer in all", held, "B"),
                Evidence("memory of the machine", memory, "B"),
                Evidence("filling it, in this run", filling, "s"),
                Evidence("batches it holds", round(size / batch)),
            ),
            grows=large,
            advice=f"Shuffle file names or indices before they are read{instead}.",
            facts={"smaller": smaller if smaller < size else 0, "first_step": pipeline.in_python},
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.moves.dataset_pipeline import smaller_shuffle

        assert finding.location is not None
        if not finding.facts["smaller"]:
            return Refusal(
                "a smaller buffer would not mix the batches any more: shuffle what is small",
                finding.location,
            )
        return smaller_shuffle(script, finding.location.line, int(finding.facts["smaller"]))

    FIRES = (
        Sketch(
            "a buffer of 4.8 GB on a machine with 16 GB",
            phases={Phase.INPUT: 0.05, Phase.RUN: 0.9},
            facts=pipeline_facts(
                Made("TFRecord", 1e-4, line=5, elements=32),
                _shuffle(48_000, 48_000),
                _BATCH,
                wait=1e-4,
            ),
        ),
        Sketch(
            "filling the buffer takes a third of a short run",
            seconds=[0.5] + [0.01] * 99,
            phases={Phase.INPUT: [0.95] + [0.02] * 99, Phase.RUN: [0.04] + [0.9] * 99},
            facts=pipeline_facts(
                Made("TFRecord", 1e-4, line=5, elements=32),
                _shuffle(20_000, 20_000),
                _BATCH,
                wait=1e-4,
            ),
        ),
    )
    QUIET = (
        Sketch(
            "a buffer of fifty batches",
            phases={Phase.INPUT: 0.05, Phase.RUN: 0.9},
            facts=pipeline_facts(
                Made("TFRecord", 1e-4, line=5, elements=32), _shuffle(1600, 1600), _BATCH, wait=1e-4
            ),
        ),
        Sketch(
            "a large number that the data does not fill",
            phases={Phase.INPUT: 0.05, Phase.RUN: 0.9},
            facts=pipeline_facts(
                Made("TFRecord", 1e-4, line=5, elements=32),
                _shuffle(1_000_000, 1600, length=1600),
                _BATCH,
                wait=1e-4,
            ),
        ),
    )


def _held(stage: Stage) -> float:
    """Elements that the buffer holds when it is full: as many as asked for, or as there are."""
    size, length = (
        float(stage.settings.get("buffer_size", 0)),
        float(stage.settings.get("length", -2)),
    )
    most = min(size, length) if length > 0 else size
    return most if most > 0 else stage.buffered


def _element(stage: Stage) -> float:
    if stage.buffered >= 1 and stage.buffered_bytes > 0:
        return stage.buffered_bytes / stage.buffered
    return stage.bytes or float(stage.settings.get("bytes", 0))


def _memory(run: Run, process: int) -> float:
    machine: Mapping[str, Any] = next(
        (one.machine for one in run.processes if one.index == process), {}
    )
    limits = [machine.get(name) for name in ("memory_bytes", "limit_bytes", "memory_limit")]
    return float(
        min((value for value in limits if isinstance(value, int | float) and value > 0), default=0)
    )


def _filling(loop: Loop, pipeline: Pipeline) -> float:
    """Seconds that the first batches of iterators took above the usual, the first step of the loop included."""
    phase = Phase.INPUT if pipeline.in_python else Phase.RUN
    column = loop.phases[:, phase]
    rows = {int(np.searchsorted(loop.end, time)) for time in pipeline.made}
    rows = {row for row in rows if row < len(column) and (row > 0 or pipeline.in_python)}
    return float(sum(max(0.0, float(column[row]) - float(np.median(column))) for row in rows))
