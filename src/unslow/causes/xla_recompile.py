"""XLA compiles a step again for every new shape."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from unslow.analyse import wording as say
from unslow.analyse.graphs import repeated_preparation
from unslow.analyse.graphs.repeated_preparation import (
    FEWEST_COMPILATIONS,
    Recompiled,
    avoidable_seconds,
    calls_for_shapes,
    recompiled_steps,
    usual_in_loop,
    usual_seconds,
)
from unslow.analyse.graphs.unusual_calls import Call, profiles
from unslow.analyse.sketches.pipelines import Made, pipeline_facts
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause
from unslow.facts.data import BuiltStage, Dataset, IteratorMade, PipelineReading
from unslow.facts.functions import CallProfile, Trace, UnusualCall
from unslow.facts.schema import Place
from unslow.model import Certainty, Evidence, Finding, Fix, Loop, Phase, Refusal, Run

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script


class XlaRecompile(Cause):
    """
    What happens
    A function that XLA compiles (`jit_compile=True`) is called with shapes that keep changing. XLA
    knows every shape when it compiles, so each new one makes it compile the whole function again,
    even where it is traced only once.

    Why it is slow
    Compiling takes from a tenth of a second to minutes; a call of the compiled step takes
    milliseconds.

    The fix
    Use few shapes: pad batches to one of a few lengths, and drop the last partial batch
    (`drop_remainder=True`). Where shapes must change, leave `jit_compile` off.

    When we are wrong
    Once every shape has been seen, nothing is compiled any more: in a long run with few shapes the
    cost fades. A step that fetches its batch itself, as in `fit()`, shows no shape: that XLA
    compiles is then inferred from steps that take about as long as the first compilation, where the
    graph leaves a length open.
    """

    title = "XLA compiles the step again for every new shape"
    reads = (UnusualCall, *repeated_preparation.READS)
    deeper_than = ("retracing", "kernels-rebuilt", "shape-churn")

    def detect(self, run: Run) -> Iterable[Finding]:
        for calls in calls_for_shapes(run):
            if _number(calls) >= FEWEST_COMPILATIONS:
                yield from self._for_shapes(run, calls)
        for loop in run.loops:
            found = recompiled_steps(run, loop)
            if found is not None and found.steps >= FEWEST_COMPILATIONS:
                yield self._unseen(run, loop, found)

    def _for_shapes(self, run: Run, calls: Sequence[Call]) -> Iterable[Finding]:
        seconds = avoidable_seconds(calls, otherwise=usual_in_loop(run, calls))
        if seconds is None:
            return
        count = _number(calls)
        where = next((call.caller for call in calls if call.caller is not None), None)
        yield Finding(
            cause=self.id,
            title=f"XLA compiles {calls[0].fact.name}() again for {count} new shapes, "
            f"{say.time(seconds / count)} each",
            location=say.place(run, where) if where is not None else None,
            seconds=seconds,
            evidence=tuple(_evidence(calls)),
            advice=_advice(calls),
        )

    def _unseen(self, run: Run, loop: Loop, found: Recompiled) -> Finding:
        """The step fetches its batch itself: that XLA compiled is told by what the steps took."""
        of_fit = " of fit()" if loop.style == "keras" else ""
        evidence = [
            Evidence("steps that were long", found.steps),
            Evidence("time of such a step", found.took, "s"),
            Evidence("time of a usual step", found.usual, "s"),
            Evidence("traces in these steps", 0),
        ]
        if found.first:
            evidence.append(
                Evidence("time of the first compilation, in a profiler window", found.first, "s")
            )
        return Finding(
            cause=self.id,
            certainty=Certainty.LIKELY,
            title=f"XLA compiles the step{of_fit} again: {found.steps} steps took "
            f"{say.time(found.seconds / found.steps)} longer than the others, without retracing",
            location=say.place(run, loop.update),
            seconds=found.seconds,
            evidence=tuple(evidence),
            advice="Use batches of one shape, or of a few: pad them to a few lengths in the "
            "dataset and use `drop_remainder=True`; or leave `jit_compile` off.",
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.moves.without_xla import without_xla

        found = without_xla(script, finding.place.line)
        note = "XLA draws other random numbers from the same seed"
        return Fix.close("leave `jit_compile` off", found.script.files, found.draws, note)


def _number(calls: Sequence[Call]) -> int:
    return sum(call.weight for call in calls)


def _evidence(calls: Sequence[Call]) -> Iterator[Evidence]:
    took = median(call.fact.took for call in calls)
    traced = [call for call in calls if "traced" in call.fact.why]
    usual = usual_seconds(calls)
    yield Evidence("shapes that were compiled for", max(call.fact.distinct for call in calls))
    yield Evidence("calls that compiled again", _number(calls))
    yield Evidence("time of a call that compiles", took, "s")
    yield Evidence("calls of them that traced again", _number(traced))
    if usual:
        yield Evidence("time of a usual call", usual, "s")
    compiling = [part.compile for part in profiles(calls) if part.compile]
    if compiling:
        yield Evidence("time of compiling, in a profiler window", median(compiling), "s")


def _advice(calls: Sequence[Call]) -> str:
    """Which axis changes, and how far: the padding in the user's own numbers."""
    by_rank: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for call in calls:
        for shape in call.fact.shapes[:1]:
            by_rank[len(shape)].append(shape)
    shapes = max(by_rank.values(), key=len, default=[])
    for axis, sizes in enumerate(zip(*shapes, strict=True)):
        low, high, distinct = min(sizes), max(sizes), len(set(sizes))
        if distinct > 1:
            padded = _padded_sizes(low, high)
            return (
                f"Axis {axis} of the first argument goes from {low} to {high}: pad it up to "
                f"{' or '.join(map(str, padded))} and mask the padding. XLA then compiles for "
                f"{len(padded)} instead of {distinct} shapes."
            )
    return "Pad the arguments to a few shapes, or leave `jit_compile` off where shapes must change."


def _padded_sizes(low: int, high: int) -> list[int]:
    """Powers of two that cover a range of sizes, the last one cut to a multiple of eight."""
    powers = [2**exponent for exponent in range(3, high.bit_length())]
    below = [power for power in powers if low <= power < high]
    enough = max(8, 1 << (high - 1).bit_length())
    return [*below, min(enough, -(-high // 8) * 8)]


def _compiled(step: int, n: int, took: float = 0.6, usual: float = 0.002, **more: Any) -> Placed:
    call = UnusualCall(
        key="step#1:shapes",
        n=n,
        name="step",
        function=1,
        why=("shapes",),
        took=took,
        usual=usual,
        jit=True,
        shapes=((8, 20 + step),),
        distinct=n + 1,
        stack=stack_at(12),
    )
    return at(step, call.replace(**more))


_FIT = Place("train.py", 10, "<module>")


def _inner(args: str = "float32[?,?,3]", first: CallProfile | None = None) -> list[Placed]:
    """A function for XLA is traced inside of the first step, which fetches its batch itself."""
    graph = Trace(name="one_step", function=2, depth=1, updates=True, jit=True, stack=(_FIT,))
    called = UnusualCall(key="steps:first", name="steps", why=("first", "traced"), stack=(_FIT,))
    seen = first._asdict() if first is not None else {}
    return [at(1, graph.replace(args={"data[0]": args})), at(1, called.replace(**seen))]


def _in_fit(says: str, seconds: Sequence[float], facts: Sequence[Placed]) -> Sketch:
    """Steps of a compiled fit(), of which only the first traces."""
    traced = [0.4, *([0.0] * (len(seconds) - 1))]
    phases = {Phase.TRACE: traced, Phase.RUN: [0.98 - share for share in traced]}
    return Sketch(says, seconds, phases, facts, style="keras", update=10)


def _filling() -> list[Placed]:
    """The first 30 of 90 batches fill a cache: a step waits for them, and for no later one."""
    stages = (BuiltStage(kind="Cache", stack=(_FIT,)), BuiltStage(kind="Generator", stack=(_FIT,)))
    facts = [at(0, Dataset(dataset=1, stages=stages))]
    for number, first in enumerate((0, 30, 60), start=1):
        facts.append(at(first, IteratorMade(n=number, iterator=number, dataset=1)))
        wait = 0.4 * 29 if not first else 0.0
        seen = PipelineReading(iterator=number, dataset=1, elements=30, wait=wait, over=29)
        facts.append(at(first + 30, seen))
    return facts


def _made(seconds: Sequence[float]) -> list[Placed]:
    """An iterator is made in every long step."""
    steps = [step for step, took in enumerate(seconds, start=1) if took > 1]
    made = [IteratorMade(key="fit", n=n, iterator=n, dataset=1) for n in range(1, len(steps) + 1)]
    return [at(step, fact) for step, fact in zip(steps, made, strict=True)]


_SEEN = CallProfile(call=0.6, compile=0.59)
_FIRST = CallProfile(call=6.0, prepare=0.5, compile=5.2, data=0.1, run=0.02)
_LENGTHS = [9.0, *([4.0, 5.0, 3.0] * 4), *([0.02] * 70)]
_WAITS = [9.0, *([0.02] * 9 + [2.0]) * 8]
_EPOCHS = [9.0, *([0.02] * 19), *([2.0, *([0.02] * 19)] * 5)]

XlaRecompile.FIRES = (
    Sketch(
        "a new shape in every fourth step, 0.6 s each",
        seconds=[0.002, 0.002, 0.002, 0.6] * 10,
        style="function",
        facts=[_compiled(step, step // 4) for step in range(4, 41, 4)],
    ),
    Sketch(
        "a new shape in every step, and windows that saw the compiling",
        seconds=[0.6] * 20,
        style="function",
        facts=[_compiled(step, step - 1, usual=0.0, **_SEEN._asdict()) for step in range(2, 21)],
    ),
    Sketch(
        "six shapes in the first steps, before any usual call, and no window",
        seconds=[0.6] * 6 + [0.002] * 30,
        phases={Phase.RUN: 0.98},
        style="function",
        facts=[_compiled(step, step - 1, usual=0.0) for step in range(2, 7)],
    ),
    _in_fit(
        "steps of a compiled fit() that are long again and again",
        ([0.005] * 9 + [0.5]) * 5,
        _inner(),
    ),
    _in_fit("every length of the first epoch is compiled for, and none later", _LENGTHS, _inner()),
    _in_fit("the same, and a window saw the first", _LENGTHS, _inner(first=_FIRST)),
    _in_fit("every step of a compiled fit() compiles", [5.0] * 20, _inner(first=_FIRST)),
)
XlaRecompile.QUIET = (
    Sketch(
        "a last partial batch, and a batch of validation",
        seconds=[0.002] * 100 + [0.6] * 2,
        style="function",
        facts=[_compiled(101, 1), _compiled(102, 2)],
    ),
    Sketch(
        "new shapes without XLA",
        seconds=[0.002, 0.6] * 10,
        style="function",
        facts=[_compiled(step, step // 2, jit=False) for step in range(2, 21, 2)],
    ),
    _in_fit(
        "hiccups of the machine in a compiled fit()",
        ([0.005] * 9 + [0.03]) * 5,
        _inner(),
    ),
    _in_fit(
        "long steps of a graph in which only the size of the batch is open",
        _LENGTHS,
        _inner("float32[?,28,28]"),
    ),
    _in_fit("each epoch first fills its buffers", _EPOCHS, [*_inner(), *_made(_EPOCHS)]),
    _in_fit(
        "steps that are long, but far shorter than the compilation was",
        [9.0, *([0.02] * 9 + [0.6]) * 8],
        _inner(first=_FIRST),
    ),
    _in_fit("a step that takes long at every call", [5.0] * 20, _inner()),
    _in_fit(
        "a first epoch that waits for what a cache keeps for the others",
        [9.0, *([0.4] * 29), *([0.002] * 60)],
        [*_inner(), *_filling()],
    ),
    _in_fit(
        "steps that wait for data, as tf.data measured",
        _WAITS,
        [
            *_inner(),
            *pipeline_facts(Made("Range", 0.2, line=4), wait=0.2, steps=81, in_python=False),
        ],
    ),
)
