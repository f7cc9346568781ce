"""Every pass over the data reads and decodes the same files again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from unslow.analyse.input import remedies
from unslow.analyse.input.remedies import Remedy, best_remedy, require_models
from unslow.analyse.input.repeated_work import cache_finding
from unslow.analyse.input.waits import waits
from unslow.analyse.sketches.pipelines import Made, pipeline_facts
from unslow.analyse.sketches.sketch import Sketch
from unslow.cause import Cause
from unslow.facts.data import BuiltStage
from unslow.facts.functions import UnusualCall
from unslow.facts.schema import Place
from unslow.model import Finding, Fix, Phase, Refusal, Run

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script

_WORTH = 0.10  # of a step
_FILES = Made(
    "TensorSlice", 1e-5, line=4, elements=8, asked=BuiltStage(kind="TensorSlice", length=200)
)


def _decode(length: int = 200, random: bool = False) -> Made:
    asked = BuiltStage(
        kind="Map",
        batch_size=8,
        length=length,
        function=Place("train.py", 3, "decode"),
        files=True,
        random=random,
    )
    return Made(
        "Map",
        0.018,
        "MapAndBatch",
        parallelism=2,
        tuned=True,
        asynchronous=True,
        line=5,
        bytes=80_000,
        asked=asked,
    )


def _behind_repeat(count: int, random: bool = False) -> Sketch:
    """A cache of 800 elements that are 200 repeated; `count` 1: they are 800 by themselves."""
    one = BuiltStage(kind="TensorSlice", length=800 // count)
    repeated = BuiltStage(kind="Repeat", count=count, length=800)
    batch = BuiltStage(kind="Batch", batch_size=8)
    decode = _decode(length=800, random=random)
    facts = pipeline_facts(
        Made("TensorSlice", 1e-5, line=4, elements=8, asked=one),
        Made("Repeat", 1e-5, "FiniteRepeat", line=5, elements=8, asked=repeated),
        replace(decode, runs_as="ParallelMapV2", line=6, elements=8),
        Made("Cache", 1e-5, "MemoryCache", line=7, elements=8, asked=one.replace(length=800)),
        Made("Batch", 1e-5, "BatchV2", line=8, asked=batch),
        wait=0.0085,
    )
    says = f"a cache behind {count} repetitions"
    phases = {Phase.INPUT: 0.85, Phase.RUN: 0.1}
    return Sketch(says, phases=phases, facts=facts, source=_REPEATED)


_REPEATED = """\
import tensorflow as tf
def decode(path):
    return tf.io.decode_png(tf.io.read_file(path))
data = tf.data.Dataset.from_tensor_slices(paths)
data = data.repeat(4)
data = data.map(decode)
data = data.cache()
data = data.batch(8)
"""


class Rereading(Cause):
    """
    What happens

    Each epoch reads the same files, decodes and prepares them in the same way, and the step waits
    for it.

    Why it is slow

    Without a cache, a tf.data pipeline repeats all of its work in every pass. Reading files that
    the operating system has cached is cheap; decoding and resizing are not, and they take the cores
    that the model needs too.

    The fix

    Put `cache()` after the last stage that is the same in every pass, and before everything random:
    shuffling after it still gives a new order each time. The decoded data must fit into memory;
    where it does not, a cache in a file (`cache("folder/name")`) trades decoding for reading. A
    cache behind `repeat` never serves anything: `repeat` belongs behind it.

    When we are wrong

    The size of the decoded data is computed from what the stage has produced so far. A cache is
    filled during the first pass and only helps from the second one on: the longer the training,
    the more it gains.
    """

    title = "every pass decodes the same files again"
    reads = (*remedies.READS, UnusualCall)
    deeper_than = ("big-shuffle",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for wait in waits(run):
            best = best_remedy(run, wait) if wait.share >= _WORTH else None
            plan = best.cache if best is not None and best.kind == "cache" else None
            if best is not None and plan is not None and plan.files:
                yield cache_finding(self.id, run, wait, best)
        require_models(run, _WORTH)

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.moves.dataset_cache import cache_fix

        where, remedy = finding.place, finding.detail_of(Remedy)
        plan, stage = remedy.cache, remedy.stage
        assert plan is not None and stage is not None
        return cache_fix(script, where, stage.kind, plan)

    FIRES = (
        Sketch(
            "the step waits for files to be decoded, in each of four passes",
            phases={Phase.INPUT: 0.85, Phase.RUN: 0.1},
            facts=pipeline_facts(_FILES, _decode(), wait=0.0085, passes=4),
        ),
        _behind_repeat(4),
    )
    QUIET = (
        _behind_repeat(1),
        _behind_repeat(4, random=True),
        Sketch(
            "the same, hidden behind a longer step",
            phases={Phase.INPUT: 0.01, Phase.RUN: 0.9},
            facts=pipeline_facts(_FILES, _decode(), wait=0.00005, passes=4),
        ),
        Sketch(
            "one pass only",
            phases={Phase.INPUT: 0.85, Phase.RUN: 0.1},
            facts=pipeline_facts(_FILES, _decode(length=800), wait=0.0085),
        ),
        Sketch(
            "what is decoded is changed at random in the same function",
            phases={Phase.INPUT: 0.85, Phase.RUN: 0.1},
            facts=pipeline_facts(_FILES, _decode(random=True), wait=0.0085, passes=4),
        ),
    )
