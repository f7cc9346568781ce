"""An iterator is made again for every step, and with it its threads and its shuffle buffer."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from unslow.analyse import wording as say
from unslow.analyse.graphs.session_restarts import PipelineRestarts, pipeline_restarts
from unslow.analyse.input.pipeline import Pipeline, pipelines
from unslow.analyse.sketches.sketch import Fact, Sketch, at, fact
from unslow.cause import Cause, Spot
from unslow.facts.schema import Place
from unslow.facts.sessions import Restarted
from unslow.model import Event, Evidence, Finding, Fix, Location, Loop, Phase, Refusal, Run
from unslow.syntax import Kind

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script
    from unslow.syntax import Source

_MAKERS = ("tf.data.make_one_shot_iterator", "tf.data.make_initializable_iterator")

_PER_STEP = 0.5  # iterators per step: one per epoch is how it should be
_FEWEST = 10  # iterators: fewer may be epochs of a few steps
_RESTARTS = 3
_WORTH = 0.1  # of the loop: to start once for each pass over the data is how it should be
_READY = 3e-4  # seconds that a batch takes which lies ready, in Python


def _made(number: int, every: int = 1, **data: object) -> list[Fact]:
    stack = [["train.py", 11, "<module>"]]
    return [
        fact(
            "iterator",
            step,
            n=step // every,
            sum=0.004 * (step // every),
            took=0.004,
            iterator=step // every,
            dataset=1,
            stack=stack,
            step=step,
            evaluates=False,
            in_fit=False,
            **data,
        )
        for step in range(every, number + 1, every)
    ]


def _started(says: str, took: float) -> Sketch:
    """An initializer that is run every ten steps: the update that follows takes longer."""
    where = (Place("train.py", 9, "<module>"),)
    restart = Restarted(key="a", took=took, start=0.001, stack=where)
    facts = [at(step, restart.replace(step=step, n=step // 10)) for step in range(10, 100, 10)]
    seconds = [0.1 if step % 10 == 9 else 0.01 for step in range(100)]
    return Sketch(says, seconds, phases={Phase.RUN: 0.95}, style="session", facts=facts)


class IteratorRebuilt(Cause):
    """
    What happens

    `iter(dataset)` (or `dataset.take(1)`) stands inside of the training loop: for every step a new iterator is made,
    one batch is taken from it, and it is thrown away. Or the initializer of a TF1 iterator is run again every few
    steps, often to change between training and validation.

    Why it is slow

    A new iterator starts its threads anew and fills its shuffle buffer from the beginning: to hand out one batch
    it may read thousands of elements. Nothing that it prepared ahead is ever used.

    The fix

    Make the iterator once in front of the loop and take the next batch from it in each step; `repeat()` lets it go on
    after the last one.

    When we are wrong

    A fresh iterator always gives the first batch (after shuffling, a batch out of the first elements); one that goes on
    gives all of them in turn, which is nearly always what was meant, but it is not the same. The time that is left is
    computed from the share of the elements that were needed.
    """

    title = "the iterator is made again in every step"
    needs = ("input", "pipeline")
    reads = (Restarted,)
    deeper_than = ("input-bound", "python-input", "rereading", "big-shuffle")

    def detect(self, run: Run) -> Iterable[Finding]:
        last: dict[tuple[int, str], Event] = {}
        for event in run.of("iterator"):
            if not event.data["evaluates"] and not event.data["in_fit"] and event.data.get("stack"):
                last[
                    event.process,
                    str(event.data["key"] if "key" in event.data else event.data["stack"]),
                ] = event
        known = pipelines(run)
        for event in last.values():
            loop = run.loop_of(event) or max(run.loops, key=lambda one: one.total, default=None)
            made = int(event.data["n"])
            if loop is None or made < _FEWEST or made < _PER_STEP * loop.steps:
                continue
            fed = next(
                (
                    one
                    for one in known
                    if one.dataset == event.data["dataset"] and one.process == event.process
                ),
                None,
            )
            yield self._finding(run, loop, event, made, fed)
        for loop in run.loops:
            for where, found in pipeline_restarts(run, loop).items():
                if found.count >= _RESTARTS and found.seconds >= _WORTH * loop.total:
                    yield self._restarted(loop, say.place(run, where), found)

    def _restarted(self, loop: Loop, place: Location, found: PipelineRestarts) -> Finding:
        """A session's iterator that is initialized again and again: what it had prepared is thrown away each time."""
        return Finding(
            cause=self.id,
            location=place,
            seconds=found.seconds,
            title=f"{say.code(place)} starts the pipeline again {found.count} times in {loop.steps} steps, and the "
            f"step that follows waits {say.time(found.each)} for it",
            evidence=(
                Evidence("runs of the initializer, in the training", found.count),
                Evidence("seconds of one", found.start, "s"),
                Evidence("the step that follows takes longer by", found.each, "s"),
                Evidence("a usual step", loop.typical(), "s"),
            ),
            advice="Give the training data an iterator of its own and let it go on (`repeat()`); where one graph must "
            "take its batches now from here, now from there, choose by the handle of an iterator "
            "(`tf.data.Iterator.from_string_handle`), which keeps the place of each.",
        )

    def _finding(
        self, run: Run, loop: Loop, event: Event, made: int, pipeline: Pipeline | None
    ) -> Finding:
        place = say.place(run, event.data["stack"][0])
        spent = float((loop.phases[1:, Phase.INPUT] * loop.count[1:]).sum()) + _letting_go(
            run, loop, place
        )
        making = float(event.data["sum"])
        needed, produced = _elements(pipeline)
        left = (
            max(0.0, spent - making) * needed / produced if produced else 0.0
        ) + _READY * loop.steps
        each = spent / max(1, loop.steps)
        evidence = [
            Evidence("iterators made", made),
            Evidence("steps", loop.steps),
            Evidence("making one", making / made, "s"),
            Evidence("for data, per step", each, "s"),
            Evidence("share of the training", f"{say.share(spent / max(loop.total, 1e-9))}"),
        ]
        what = ""
        if produced > 2 * needed > 0:
            evidence += [
                Evidence("elements read per batch", round(produced)),
                Evidence("elements in a batch", round(needed)),
            ]
            what = f", and reads {produced:.0f} elements to hand out {needed:.0f}"
        length = (
            next((int(stage.get("length", -2)) for stage in pipeline.built), -2) if pipeline else -2
        )
        return Finding(
            cause=self.id,
            title=f"{say.code(place)} makes a new iterator in every step{what}: {say.time(each)} a step",
            location=place,
            seconds=max(0.0, spent - left),
            evidence=tuple(evidence),
            advice="Make it once in front of the loop, `batches = iter(dataset.repeat())`; `next(batches)` in it.",
            facts={
                "endless": length == -1,
                "shuffled": any(stage.get("kind") == "Shuffle" for stage in pipeline.built)
                if pipeline
                else False,
            },
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.moves.hoist_iterator import iterator_once

        assert finding.location is not None
        if "endless" not in finding.facts:  # an initializer that is run again
            return None
        return iterator_once(
            script,
            finding.location.line,
            bool(finding.facts["endless"]),
            bool(finding.facts["shuffled"]),
        )

    FIRES = (
        Sketch(
            "one iterator per step", phases={Phase.INPUT: 0.7, Phase.RUN: 0.25}, facts=_made(100)
        ),
        _started("an initializer every ten steps, and the next one waits", 0.095),
    )
    QUIET = (
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
                yield source.spot(
                    call,
                    f"the loop at line {loop.lineno} makes an iterator in every turn and takes one element of it: the"
                    " pipeline starts again each time, its shuffle buffer too",
                    "iterator = iter(dataset) before the loop, next(iterator) in it; or loop over the dataset itself",
                )


def _elements(pipeline: Pipeline | None) -> tuple[float, float]:
    """Elements that a batch needs and those that the source gave for it; zeros where it was not seen."""
    if pipeline is None or not pipeline.stages:
        return 0.0, 0.0
    needed = next(
        (float(stage["batch_size"]) for stage in pipeline.built if "batch_size" in stage), 1.0
    )
    counted = max((stage.items for stage in pipeline.stages if stage.elements), default=0.0)
    filled = [_filled(stage) for stage in pipeline.built if stage["kind"] == "Shuffle"]
    return needed, max(counted, needed + sum(filled))


def _filled(stage: Mapping[str, Any]) -> float:
    """Elements that a shuffle reads before it hands out its first: its whole buffer, or all there are."""
    size, length = float(stage.get("buffer_size", 0)), float(stage.get("length", -2))
    return min(size, length) if length > 0 else max(0.0, size)


def _letting_go(run: Run, loop: Loop, place: Location) -> float:
    """Seconds at the line outside of any call that is timed: old iterators, with their buffers, are destroyed there."""
    other = [
        one
        for one in run.samples
        if one.process == loop.process and one.training and one.phase is Phase.OTHER
    ]
    total = sum(one.in_steps for one in other)
    line = (place.file, place.line)
    here = sum(
        one.in_steps
        for one in other
        if one.stack and (one.stack[0].file, one.stack[0].line) == line
    )
    return loop.phase(Phase.OTHER) * here / total if total else 0.0


def _one_by_one(source: Source) -> Iterator[Spot]:
    """`for batch in dataset.take(1)` around a training step, in a loop of its own."""
    for loop in source.every(ast.For):
        take = loop.iter if isinstance(loop.iter, ast.Call) else None
        method = take.func if take is not None else None
        if (
            take is None
            or not isinstance(method, ast.Attribute)
            or method.attr != "take"
            or not take.args
        ):
            continue
        outer = source.repeated_by(loop)
        if source.number_of(take.args[0]) != 1 or loop not in source.step_loops or not outer:
            continue
        if source.kind(method.value) is Kind.DATASET and not source.varies(method.value, outer[0]):
            yield source.spot(
                take,
                f"the loop at line {outer[0].lineno} makes an iterator in every turn and takes one element of it: the"
                " pipeline starts again each time, its shuffle buffer too",
                "iterator = iter(dataset) before the loop, next(iterator) in it; or loop over the dataset itself",
            )


def _taken_at_once(source: Source, call: ast.Call, loop: ast.AST) -> bool:
    """Whether an iterator gives its element in the turn that makes it: `next(iter(d))`, or by its name."""
    parent = source.parents.get(call)
    if isinstance(parent, ast.Call) and source.name(parent.func) == "next":
        return True
    if isinstance(parent, ast.Attribute) and parent.attr == "get_next":
        return True
    if not isinstance(parent, ast.Assign):
        return False
    for taking in source.every(ast.Call):
        held = taking.args[0] if source.name(taking.func) == "next" and taking.args else None
        if isinstance(taking.func, ast.Attribute) and taking.func.attr == "get_next":
            held = taking.func.value
        made = (
            [binding.node for binding in source.reaching(held)]
            if isinstance(held, ast.Name)
            else []
        )
        if made == [parent] and source.innermost(taking) is loop:
            return True
    return False
