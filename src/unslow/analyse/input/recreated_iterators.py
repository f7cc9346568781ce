"""Lines that make an iterator for every step, or for every batch, and what that costs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unslow.analyse.grouping import grouped
from unslow.analyse.input import run_pipelines
from unslow.analyse.input.dataset_variants import dataset_variants, first_variant
from unslow.analyse.input.pipeline import Pipeline, shuffle_elements
from unslow.analyse.input.run_pipelines import pipelines
from unslow.analyse.places import by_users
from unslow.analyse.run.tallies import last_at_line
from unslow.analyse.sampled_time import untimed_seconds_at
from unslow.facts.data import BuiltStage, Dataset, IteratorMade, Next
from unslow.facts.schema import Place
from unslow.model import Loop, Phase, Run

READS = (*run_pipelines.READS, Next)
_PER_STEP = 0.5  # iterators per step: one per epoch is how it should be
_FEWEST_ITERATORS = 10  # a judgement: fewer may be epochs of a few steps
_BATCHES_EACH = 2  # of an iterator, at most; a judgement: one that reads on is a pass over the data
_READY = 3e-4  # seconds that fetching a ready batch takes in Python, measured on a laptop


@dataclass(frozen=True)
class IteratorLine:
    """A line that makes iterators: its last totals, and what they iterate over."""

    made: IteratorMade
    pipeline: Pipeline | None  # None where it was never read at work
    built: tuple[BuiltStage, ...]
    is_outside: bool  # most of them are made outside of the steps

    @property
    def place(self) -> Place:
        return self.made.stack[0]

    @property
    def needed(self) -> float:
        """Elements in a batch; 0 where they are unknown."""
        return self.pipeline.batch_size if self.pipeline is not None else 0.0

    @property
    def read(self) -> float:
        """Elements that are read for the first batch of an iterator; 0 where they are unknown."""
        if self.pipeline is None or not self.pipeline.stages:
            return 0.0
        counted = max(stage.items for stage in self.pipeline.stages)
        filled = [shuffle_elements(stage) for stage in self.built if stage.kind == "Shuffle"]
        return max(counted, self.needed + sum(filled))


@dataclass(frozen=True)
class MadeInSteps:
    """Iterators that are made in the steps of a loop."""

    line: IteratorLine
    loop: Loop
    spent: float  # seconds of the loop on data
    saved: float  # of them, with one iterator


@dataclass(frozen=True)
class MadeOutside:
    """Iterators outside of the steps, each for a batch or two."""

    line: IteratorLine
    fetched: Next
    spent: float
    saved: float


def iterator_lines(run: Run) -> list[IteratorLine]:
    """Iterators of the user's own lines that are not for validation."""
    by_own = [one for one in by_users(run.facts(IteratorMade)) if not one.in_fit]
    training = [one for one in by_own if not one.evaluates]
    variants = dataset_variants(run)
    known = {(one.process, one.dataset): one for one in reversed(pipelines(run))}
    built = {(one.process, one.dataset): one.stages for one in run.facts(Dataset)}
    found = []
    for facts in grouped(training, lambda one: (one.process, one.key)).values():
        made = facts[-1]
        outside = sum(run.loop_of(one) is None for one in facts)
        variant = first_variant(variants, made)
        pipeline = known.get(variant)
        stages = pipeline.built if pipeline is not None else built.get(variant, ())
        found.append(IteratorLine(made, pipeline, stages, is_outside=2 * outside > len(facts)))
    return found


def made_in_steps(run: Run, lines: Sequence[IteratorLine]) -> Iterator[MadeInSteps]:
    longest = max(run.loops, key=lambda loop: loop.total, default=None)
    by_loop: dict[Loop, list[IteratorLine]] = defaultdict(list)
    for line in lines:
        loop = run.loop_of(line.made) or longest
        if loop is None or line.is_outside:
            continue
        if line.made.n >= max(_FEWEST_ITERATORS, _PER_STEP * loop.steps):
            by_loop[loop].append(line)
    for loop, together in by_loop.items():
        for line, share in zip(together, _shares(run, together), strict=True):
            yield _in_steps(run, loop, line, share)


def _shares(run: Run, together: Sequence[IteratorLine]) -> list[float]:
    """Of what the steps of a loop spend on data, what is for each line that makes iterators."""
    fetched = [last_at_line(run.facts(Next, line.made.process), line.place) for line in together]
    spent = [
        line.made.sum + one.took
        for line, one in zip(together, fetched, strict=True)
        if one is not None
    ]
    if len(spent) < len(together) or not sum(spent):  # some fetch at another line
        return [1 / len(together)] * len(together)
    return [each / sum(spent) for each in spent]


def _in_steps(run: Run, loop: Loop, line: IteratorLine, share: float) -> MadeInSteps:
    fetching = share * float((loop.phases[1:, Phase.INPUT] * loop.count[1:]).sum())
    # Old iterators are destroyed at the line, outside of any recorded call.
    spent = fetching + untimed_seconds_at(run, loop, line.place)
    useful = 0.0
    if line.read:
        useful = max(0.0, spent - line.made.sum) * line.needed / line.read
    return MadeInSteps(line, loop, spent, max(0.0, spent - useful - _READY * loop.steps))


def made_outside(run: Run, lines: Sequence[IteratorLine]) -> Iterator[MadeOutside]:
    for line in lines:
        made = line.made
        fetched = last_at_line(run.facts(Next, made.process), line.place)
        if fetched is None or not line.is_outside:
            continue
        is_for_few = fetched.count <= _BATCHES_EACH * made.n
        if made.n >= _FEWEST_ITERATORS and is_for_few:
            spent = fetched.took + made.sum
            useful = spent * line.needed / line.read if line.read else spent / made.n
            saved = max(0.0, spent - useful - _READY * fetched.count)
            yield MadeOutside(line, fetched, spent, saved)
