"""Elements that a stage with real work makes and a `skip` or `shard` above it throws away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from unslow.analyse.input.pipeline import Pipeline, Stage, slowest
from unslow.analyse.input.waits import Wait
from unslow.analyse.stats.robust import ratio

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
    seconds: float  # per step, in which they are made
    one_to_one: bool  # every stage between the two gives one element for each


def largest_discard(wait: Wait, pipeline: Pipeline) -> Discard | None:
    """The stage that throws away the most work in the steps of a loop."""
    found = _discards(wait, pipeline)
    return max(found, key=lambda one: one.seconds, default=None)


def _discards(wait: Wait, pipeline: Pipeline) -> Iterable[Discard]:
    stages = [stage for stage in pipeline.stages if not stage.injected]
    for position, stage in enumerate(stages):
        below = stages[position + 1 :]
        if stage.kind in _DISCARDING and below and below[0].elements > stage.elements > 0:
            passed = list(takewhile(_is_passed, below))
            working = [one for one in passed if one.asked.function is not None]
            is_repeated = any(above.kind == "Repeat" for above in stages[:position])
            if working and (is_repeated or _is_in_steps(stage, pipeline)):
                yield _discard(wait, pipeline, stage, passed, is_repeated)


def _is_passed(stage: Stage) -> bool:
    return stage.kind in _PASSED


def _is_in_steps(stage: Stage, pipeline: Pipeline) -> bool:
    """Whether more than the first step, which no wait counts, pays for it."""
    return stage.kind == "Shard" or pipeline.iterators > 1


def _discard(
    wait: Wait, pipeline: Pipeline, by: Stage, passed: Sequence[Stage], is_repeated: bool
) -> Discard:
    working = [one for one in passed if one.asked.function is not None]
    made_by = max(working, key=lambda one: one.busy)
    reaching = passed[0].elements
    made = slowest(working)[0] / pipeline.calibration * pipeline.per_step  # seconds of a step
    used = made * by.elements / reaching
    discarded = made - used
    if by.kind == "Skip" and not is_repeated:
        discarded *= _read_share(wait, pipeline)
    # Functions are also timed while they queue for a processor.
    fitting = min(1.0, ratio(wait.step, used + discarded))
    between = passed[: passed.index(made_by) + 1]
    return Discard(
        by=by,
        made_by=made_by,
        share=ratio(discarded, used + discarded),
        seconds=discarded * fitting,
        one_to_one=all(one.kind in _ONE_TO_ONE and one.name != "MapAndBatch" for one in between),
    )


def _read_share(wait: Wait, pipeline: Pipeline) -> float:
    """The share of a pass that the last reading of an iterator saw.

    A skip comes before the first batch: counted over less than a pass it would weigh more.
    """
    seen = pipeline.batches / pipeline.read
    each = wait.loop.steps * pipeline.per_step / pipeline.iterators
    whole = max(each, pipeline.length, pipeline.built[0].length if pipeline.built else 0)
    return min(1.0, seen / whole)
