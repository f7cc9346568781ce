"""An iterator is recreated for every step, and with it its threads and its shuffle buffer."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from unslow.analyse import wording as say
from unslow.analyse.graphs.session_restarts import PipelineRestarts, pipeline_restarts
from unslow.analyse.input import recreated_iterators
from unslow.analyse.input.overlay import base
from unslow.analyse.input.recreated_iterators import (
    MadeInSteps,
    MadeOutside,
    iterator_lines,
    made_in_steps,
    made_outside,
)
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.analyse.stretches import stretch_at
from unslow.cause import LEAST_SHARE, Cause, Spot
from unslow.facts.data import ENDLESS, BuiltStage, IteratorMade, Next
from unslow.facts.sessions import Restarted
from unslow.model import Certainty, Evidence, Finding, Fix, Location, Loop, Phase, Refusal, Run
from unslow.syntax import Kind

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script
    from unslow.syntax import Source

_SPOTTED = (
    "the loop at line {line} makes an iterator in every iteration and takes one element of it: the "
    "pipeline starts again each time, its shuffle buffer too"
)
_INSTEAD = (
    "iterator = iter(dataset) before the loop, next(iterator) in it; or loop over the dataset "
    "itself"
)
_MAKERS = ("tf.data.make_one_shot_iterator", "tf.data.make_initializable_iterator")

_FEWEST_RESTARTS = 3  # of a session's iterator (judgement)
_WORTH = 0.1  # of the loop: starting once for each pass over the data is how it should be
_MIXED = ("Shuffle", "ShuffleAndRepeat", "Cache", "Snapshot")
_CUT = ("Take", "TakeWhile")  # a pass that ends early leaves a cache empty


@dataclass(frozen=True)
class _Dataset:
    """What the edit that makes an iterator once must know."""

    endless: bool
    shuffled: bool
    stages: tuple[BuiltStage, ...] = ()  # from the one that gives batches to the sources


def _made(number: int, every: int = 1) -> list[Placed]:
    made = IteratorMade(iterator=1, dataset=1, took=0.004, stack=stack_at(11))
    return [
        at(step, made.replace(n=step // every, sum=0.004 * (step // every)))
        for step in range(every, number + 1, every)
    ]


def _by_number(iterators: int, batches: int, took: float) -> list[Placed]:
    """Iterators made and batches fetched at one line, some time after the last step."""
    made = IteratorMade(iterator=1, dataset=1, stack=stack_at(30), n=iterators, sum=0.9)
    return [at(101, made), at(101, Next(stack=stack_at(30), count=batches, took=took))]


def _started(says: str, took: float) -> Sketch:
    """An initializer that is run every ten steps: the update that follows takes longer."""
    where = stack_at(9)
    restart = Restarted(key="a", took=took, start=0.001, stack=where)
    facts = [at(step, restart.replace(step=step, n=step // 10)) for step in range(10, 100, 10)]
    seconds = [0.1 if step % 10 == 9 else 0.01 for step in range(100)]
    return Sketch(says, seconds, phases={Phase.RUN: 0.95}, style="session", facts=facts)


class IteratorRebuilt(Cause):
    """
    What happens

    `iter(dataset)` (or `dataset.take(1)`) is inside the training loop: every step makes a new
    iterator, takes one batch from it and drops it. Or the initializer of a TF1 iterator runs again
    every few steps, often to switch between training and validation. Or code outside of the
    training takes its batches one by one, each from an iterator of its own (`skip(n).take(1)`).

    Why it is slow

    A new iterator starts its threads again and fills its shuffle buffer from the beginning: for
    one batch it may read thousands of elements. Nothing that it prepared ahead is ever used.

    The fix

    Make the iterator once, before the loop, and take the next batch from it in each step;
    `repeat()` lets it continue after the last one. Where each turn filters the same dataset anew,
    put `cache()` behind what all turns read.

    When we are wrong

    A new iterator always gives the first batch (after shuffling, a batch of the first elements).
    One that continues gives all batches in turn: nearly always what was meant, but not the same.
    The remaining time is estimated from the share of the elements that were needed.
    """

    title = "the iterator is recreated in every step"
    reads = (*recreated_iterators.READS, Restarted)
    deeper_than = ("input-bound", "python-input", "rereading", "big-shuffle")

    def detect(self, run: Run) -> Iterable[Finding]:
        lines = iterator_lines(run)
        for found in made_in_steps(run, lines):
            yield self._in_steps(run, found)
        for outside in made_outside(run, lines):
            if outside.saved >= LEAST_SHARE * run.seconds:
                yield self._outside(run, outside)
        for loop in run.loops:
            for where, restarts in pipeline_restarts(run, loop).items():
                if restarts.count >= _FEWEST_RESTARTS and restarts.seconds >= _WORTH * loop.total:
                    yield self._restarted(loop, say.place(run, where), restarts)

    def _outside(self, run: Run, found: MadeOutside) -> Finding:
        made, fetched = found.line.made, found.fetched
        place = say.place(run, made.stack[0])
        return Finding(
            cause=self.id,
            title=f"{say.code(place)} makes {made.n:,} iterators for {fetched.count:,} batches: "
            f"{say.time(found.spent / fetched.count)} a batch",
            location=place,
            seconds=found.saved,
            certainty=Certainty.LIKELY,
            evidence=(
                Evidence("iterators made", made.n),
                Evidence("batches taken from them", fetched.count),
                Evidence("making one", made.sum / made.n, "s"),
                Evidence("waiting for its batches", fetched.took / made.n, "s"),
            ),
            advice="Loop over the dataset once, or keep one iterator and call `next()` on it: a "
            "new one reads the data again from the beginning.",
            stretch=stretch_at(run, made.process, made.time),
        )

    def _restarted(self, loop: Loop, place: Location, found: PipelineRestarts) -> Finding:
        """A session's iterator that is initialized repeatedly, losing what it had prepared."""
        return Finding(
            cause=self.id,
            location=place,
            seconds=found.seconds,
            title=f"{say.code(place)} restarts the pipeline {found.count} times in {loop.steps} "
            f"steps, and the step that follows waits {say.time(found.each)} for it",
            evidence=(
                Evidence("runs of the initializer", found.count),
                Evidence("time of one", found.start, "s"),
                Evidence("the step that follows takes longer by", found.each, "s"),
                Evidence("a usual step", loop.typical(), "s"),
            ),
            advice="Give the training data an iterator of its own and let it continue "
            "(`repeat()`). To switch between datasets in one graph, use the handle of an iterator "
            "(`tf.data.Iterator.from_string_handle`), which keeps the position of each.",
        )

    def _in_steps(self, run: Run, found: MadeInSteps) -> Finding:
        line, loop = found.line, found.loop
        made, built = line.made, line.built
        place = say.place(run, made.stack[0])
        each = found.spent / loop.steps
        evidence = [
            Evidence("iterators made", made.n),
            Evidence("steps", loop.steps),
            Evidence("making one", made.sum / made.n, "s"),
            Evidence("for data, per step", each, "s"),
            Evidence("share of the training", say.share(found.spent / loop.total)),
        ]
        what = ""
        if line.read > 2 * line.needed:
            evidence.append(Evidence("elements read per batch", round(line.read)))
            evidence.append(Evidence("elements in a batch", round(line.needed)))
            what = f", and reads {line.read:.0f} elements for {line.needed:.0f}"
        return Finding(
            cause=self.id,
            title=f"{say.code(place)} makes a new iterator in every step{what}: "
            f"{say.time(each)} a step",
            location=place,
            seconds=found.saved,
            evidence=tuple(evidence),
            advice="Make it once, before the loop: `batches = iter(dataset.repeat())`; call "
            "`next(batches)` in the loop.",
            detail=_Dataset(
                endless=bool(built) and built[0].length == ENDLESS,
                shuffled=any(stage.kind == "Shuffle" for stage in built),
                stages=built,
            ),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.moves.hoist_iterator import iterator_once

        where, detail = finding.place, finding.detail
        if not isinstance(detail, _Dataset):  # an initializer that is run again
            return None
        kept = _kept_in_memory(script, where, detail.stages)
        if kept is not None:
            return kept
        return iterator_once(script, where.line, detail.endless, detail.shuffled)

    FIRES = (
        Sketch(
            "one iterator per step", phases={Phase.INPUT: 0.7, Phase.RUN: 0.25}, facts=_made(100)
        ),
        _started("an initializer every ten steps, and the next one waits", 0.095),
        Sketch(
            "a batch by its number after the training", after=10.0, facts=_by_number(90, 90, 8.0)
        ),
    )
    QUIET = (
        Sketch(
            "passes over the data after the training", after=10.0, facts=_by_number(12, 600, 8.0)
        ),
        _started("an initializer every ten steps, after a validation that takes long", 0.0096),
        Sketch(
            "one iterator per epoch of 25 steps",
            phases={Phase.INPUT: 0.7, Phase.RUN: 0.25},
            facts=_made(100, 25),
        ),
        Sketch(
            "one iterator per step that costs next to nothing",
            phases={Phase.INPUT: 0.02, Phase.RUN: 0.9},
            facts=_made(100),
        ),
    )

    def spot(self, source: Source) -> Iterable[Spot]:
        yield from _one_by_one(source)
        for call in source.calls("iter", *_MAKERS):
            dataset = call.args[0] if call.args else None
            loop = source.innermost(call)
            if dataset is None or loop is None or source.kind(dataset) is not Kind.DATASET:
                continue
            if source.varies(dataset, loop) or any(source.conditions(call, loop)):
                continue
            if _taken_at_once(source, call, loop):
                yield source.spot(call, _SPOTTED.format(line=loop.lineno), _INSTEAD)


def _kept_in_memory(
    script: Script, where: Location, stages: tuple[BuiltStage, ...]
) -> Fix | Refusal | None:
    """For a loop over a dataset in each turn of another one: a cache of what all turns read."""
    from unslow.fix.moves.dataset_cache import LARGE_CACHE, cache_after, no_room, shared_by_turns

    shared = shared_by_turns(script, where.line, [stage.stack for stage in stages])
    if shared is None:
        return None
    stage, below = stages[shared], stages[shared:]
    mixed = any(each.random or each.python or base(each.kind) in _MIXED for each in below)
    cut = any(base(each.kind) in _CUT for each in stages)
    size = stage.length * stage.bytes
    if mixed or cut or size <= 0:
        return None
    place = Location(stage.stack[0].file, stage.stack[0].line)
    if size > LARGE_CACHE:
        return no_room(place)
    found = cache_after(script.of(place.file), place, base(stage.kind), stage.function)
    if found is None:
        return None
    note = f"The cache holds {say.size(size)} of what this line makes."
    return replace(found, title="keep what every turn reads", note=note)


def _one_by_one(source: Source) -> Iterator[Spot]:
    """`for batch in dataset.take(1)` around a training step, inside another loop."""
    for take in source.methods(Kind.DATASET, "take"):
        loop = source.parents.get(take)
        if not isinstance(loop, ast.For) or loop.iter is not take or loop not in source.step_loops:
            continue
        outer = source.repeated_by(loop)
        is_one = bool(take.args) and source.number_of(take.args[0]) == 1
        if is_one and outer and not source.varies(take.func, outer[0]):
            yield source.spot(take, _SPOTTED.format(line=outer[0].lineno), _INSTEAD)


def _taken_at_once(source: Source, call: ast.Call, loop: ast.AST) -> bool:
    """Whether the iteration that makes an iterator also takes its element: `next(iter(d))`."""
    match source.parents.get(call):
        case ast.Call(func=function):
            return source.name(function) == "next"
        case ast.Attribute(attr=method):
            return method == "get_next"
        case ast.Assign() as made:
            calls = [
                taking for taking in source.every(ast.Call) if source.innermost(taking) is loop
            ]
            return any(_takes_from(source, taking, made) for taking in calls)
    return False


def _takes_from(source: Source, call: ast.Call, made: ast.Assign) -> bool:
    """`next(batches)` or `batches.get_next()` of an iterator that one statement made."""
    match call:
        case ast.Call(func=ast.Attribute(attr="get_next", value=ast.Name() as held)):
            pass
        case ast.Call(func=function, args=[ast.Name() as held, *_]):
            if source.name(function) != "next":
                return False
        case _:
            return False
    return [binding.node for binding in source.reaching(held)] == [made]
