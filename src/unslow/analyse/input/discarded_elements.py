"""Elements that a stage with real work makes and a `skip` or `shard` above it throws away."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

from unslow.analyse.input.pipeline import Pipeline, Stage, asked_for, slowest
from unslow.analyse.input.run_pipelines import pipelines
from unslow.analyse.input.waits import Wait
from unslow.analyse.stats.robust import ratio
from unslow.model import Loop, Phase, Run

_DISCARDING = ("Skip", "Shard")
# Stages whose elements can be left out in front of them instead of behind them: an element that is
# thrown away is made for nothing. Behind a filter or a cache it may be needed.
_PASSED = ("Map", "Batch", "PaddedBatch", "Shuffle", "Prefetch", "Take", "Enumerate", *_DISCARDING)
_ONE_TO_ONE = ("Map", "Prefetch")


@dataclass(frozen=True)
class Discard:
    """What one stage throws away."""

    by: Stage
    made_by: Stage  # the one below it that takes the most time
    share: float  # of the elements that reach it
    seconds: float  # in which they are made: per step, or per pass of a validation
    one_to_one: bool  # every stage between the two gives one element for each


@dataclass(frozen=True)
class DiscardApart:
    """What the passes of a validation in a loop throw away."""

    loop: Loop
    pipeline: Pipeline
    discard: Discard
    elements: float  # thrown away in each pass
    passes: int
    seconds: float


@dataclass(frozen=True)
class _Cut:
    """A stage that throws elements away, and the stages below it whose work is for nothing then."""

    by: Stage
    passed: tuple[Stage, ...]
    is_repeated: bool

    @property
    def working(self) -> list[Stage]:
        return [one for one in self.passed if one.asked.function is not None]

    @property
    def used(self) -> float:
        """The share of the elements that is not thrown away."""
        return self.by.elements / self.passed[0].elements

    def seconds(self, pipeline: Pipeline) -> float:
        """Per batch, of all that reaches it."""
        return slowest(self.working)[0] / pipeline.calibration

    def discard(self, share: float, seconds: float) -> Discard:
        made_by = max(self.working, key=lambda one: one.busy)
        between = self.passed[: self.passed.index(made_by) + 1]
        return Discard(self.by, made_by, share, seconds, all(map(_is_one_to_one, between)))


def _is_one_to_one(stage: Stage) -> bool:
    return stage.kind in _ONE_TO_ONE and stage.name != "MapAndBatch"


def _cuts(pipeline: Pipeline) -> Iterable[_Cut]:
    stages = asked_for(pipeline.stages)
    for position, stage in enumerate(stages):
        below = stages[position + 1 :]
        if stage.kind in _DISCARDING and below and below[0].elements > stage.elements > 0:
            passed = tuple(takewhile(lambda one: one.kind in _PASSED, below))
            is_repeated = any(above.kind == "Repeat" for above in stages[:position])
            cut = _Cut(stage, passed, is_repeated)
            if cut.working:
                yield cut


def largest_discard(wait: Wait, pipeline: Pipeline) -> Discard | None:
    """The stage that throws away the most work in the steps of a loop."""
    paid = [cut for cut in _cuts(pipeline) if _is_in_steps(cut, pipeline)]
    found = (_in_steps(wait, pipeline, cut) for cut in paid)
    return max(found, key=lambda one: one.seconds, default=None)


def _is_in_steps(cut: _Cut, pipeline: Pipeline) -> bool:
    """Whether more than the first step, which no wait counts, pays for it."""
    return cut.is_repeated or cut.by.kind == "Shard" or pipeline.iterators > 1


def _in_steps(wait: Wait, pipeline: Pipeline, cut: _Cut) -> Discard:
    made = cut.seconds(pipeline) * pipeline.per_step
    used = made * cut.used
    discarded = made - used
    if cut.by.kind == "Skip" and not cut.is_repeated:
        discarded *= _read_share(wait, pipeline)
    # Functions are also timed while they queue for a processor.
    fitting = min(1.0, ratio(wait.step, used + discarded))
    return cut.discard(ratio(discarded, used + discarded), discarded * fitting)


def _read_share(wait: Wait, pipeline: Pipeline) -> float:
    """The share of a pass that the last reading of an iterator saw.

    A skip comes before the first batch: counted over less than a pass it would weigh more.
    """
    seen = pipeline.batches / pipeline.read
    each = wait.loop.steps * pipeline.per_step / pipeline.iterators
    whole = max(each, pipeline.length, pipeline.built[0].length if pipeline.built else 0)
    return min(1.0, seen / whole)


def discards_apart(run: Run) -> Iterable[DiscardApart]:
    """What `fit` throws away in its validations."""
    evaluating = [one for one in pipelines(run) if one.evaluates]
    for loop in run.loops:
        for pipeline in evaluating:
            passes = min(_made_in(loop, pipeline), int((loop.phases[:, Phase.EVAL] > 0).sum()))
            if pipeline.process == loop.process and passes > 1:
                for cut in _cuts(pipeline):
                    yield _apart(loop, pipeline, cut, passes)


def _made_in(loop: Loop, pipeline: Pipeline) -> int:
    """Iterators made in a loop; Keras makes more than it needs."""
    return sum(loop.start <= time < loop.stop for time in pipeline.made)


def _apart(loop: Loop, pipeline: Pipeline, cut: _Cut, passes: int) -> DiscardApart:
    read = pipeline.batches / pipeline.read  # batches of a pass, as far as it was read
    share = 1 - cut.used
    found = cut.discard(share, cut.seconds(pipeline) * share * read)
    elements = (cut.passed[0].elements - cut.by.elements) * read
    # Functions are also timed while they queue for a processor.
    seconds = min(found.seconds * passes, share * loop.phase(Phase.EVAL))
    return DiscardApart(loop, pipeline, found, elements, passes, seconds)
