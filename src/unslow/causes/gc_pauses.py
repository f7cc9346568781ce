"""Python's garbage collector takes a share of the steps."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from unslow.analyse import wording as say
from unslow.analyse.graphs.unusual_calls import calls_after_resets
from unslow.analyse.memory.collector import (
    AskedCollections,
    CollectorPauses,
    asked_collections,
    collector_pauses,
)
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import LEAST_SHARE, Cause, Spot
from unslow.facts.functions import UnusualCall
from unslow.facts.memory import Gc
from unslow.facts.schema import Place
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import delete
from unslow.model import Evidence, Finding, Fix, Loop, Phase, Refusal, Run, Safety
from unslow.syntax import Source

_FEWEST_ROWS = 20  # a judgement: the collector runs in few of so short a loop's steps
_BY_PROGRAM = "a line of the program asks for the collections"
_FEWEST_PAUSES = 8  # a judgement: fewer are the end of a set-up, or of the models of a search


class GcPauses(Cause):
    """
    What happens
    Python's garbage collector repeatedly stops the training to search all objects for reference
    cycles, and takes a noticeable share of the steps.

    Why it is slow
    A full collection visits every tracked object in the process; TensorFlow alone has hundreds of
    thousands. The more objects the program keeps alive, the longer each collection takes, so a
    program that accumulates objects slows down over time.

    The fix
    If the script calls `gc.collect()` in the loop, remove the call or make it once per epoch.
    Objects without reference cycles are freed without it. Otherwise call `gc.collect()` and
    `gc.freeze()` once after the set-up, so that existing objects are never visited again, or raise
    the threshold with `gc.set_threshold(50_000, 20, 100)`. If the share grows, find what
    accumulates objects.

    When we are wrong
    If memory is short, the collections may be needed; memory of cycles that were frozen is never
    freed. We do not count collections while a graph is built or traced, nor the short collections
    of the youngest objects.
    """

    title = "the garbage collector takes a share of the steps"
    reads = (Gc, UnusualCall)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            if len(loop.seconds) >= _FEWEST_ROWS:
                yield from self._judge(run, loop)

    def _judge(self, run: Run, loop: Loop) -> Iterable[Finding]:
        pauses = collector_pauses(loop)
        least = LEAST_SHARE * pauses.steady
        if len(pauses.paused) < _FEWEST_PAUSES or pauses.recurring < least:
            return
        resets = {str(where) for where in calls_after_resets(run)}  # see kernels-rebuilt
        asked = [each for each in asked_collections(run, loop) if each.seconds >= least]
        for each in asked:
            if str(each.location) not in resets:
                yield self._asked_for(loop, pauses, each)
        automatic = pauses.total - sum(each.seconds for each in asked)
        if automatic >= least:
            yield self._automatic(loop, pauses, automatic)

    def _asked_for(self, loop: Loop, pauses: CollectorPauses, asked: AskedCollections) -> Finding:
        seconds = min(asked.seconds, pauses.total)
        calls = Evidence("collections that this line asks for", asked.calls)
        return Finding(
            cause=self.id,
            title=f"{say.code(asked.location)} takes {_share(loop, pauses, seconds)}",
            location=asked.location,
            seconds=seconds,
            grows=pauses.grows,
            forecast=pauses.forecast(loop),
            evidence=(*_evidence(loop, pauses, seconds), calls),
            advice="Remove the call, or make it once per epoch: objects without reference cycles "
            "are freed without it.",
            detail=_BY_PROGRAM,
        )

    def _automatic(self, loop: Loop, pauses: CollectorPauses, seconds: float) -> Finding:
        return Finding(
            cause=self.id,
            title=f"the garbage collector takes {_share(loop, pauses, seconds)}",
            location=loop.location,
            seconds=seconds,
            grows=pauses.grows,
            forecast=pauses.forecast(loop),
            evidence=tuple(_evidence(loop, pauses, seconds)),
            advice="After the set-up, before the loop: `import gc; gc.collect(); gc.freeze()`.",
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where = finding.place
        if finding.detail != _BY_PROGRAM:
            return None
        calls = [call for call in script.calls("gc.collect") if script.recorded(call) == where.line]
        if len(calls) != 1:
            return Refusal("the collection is asked for by something that this line calls", where)
        if not isinstance(script.parents[calls[0]], ast.Expr):
            return Refusal("the result of `gc.collect()` is used", where)
        edited = delete(script, where.line)
        return Fix("take `gc.collect()` out of the loop", Safety.EXACT, {where.file: edited.text})

    def spot(self, source: Source) -> Iterable[Spot]:
        for call in source.calls("gc.collect"):
            loop = source.every_step(call)
            if loop is not None:
                yield source.spot(
                    call,
                    f"the loop at line {loop.lineno} searches all objects of the process in every "
                    "step",
                    "gc.collect() and gc.freeze() once, before the loop; or every thousand steps",
                )


def _share(loop: Loop, pauses: CollectorPauses, seconds: float) -> str:
    share = f"{say.share(seconds / loop.total)} of the steps"
    return f"{share}, and the share grows" if pauses.grows else share


def _evidence(loop: Loop, pauses: CollectorPauses, seconds: float) -> Iterable[Evidence]:
    yield Evidence("in collections", round(seconds, 3), "s")
    yield Evidence("share of the steps", round(100 * seconds / loop.total, 1), "%")
    yield Evidence("longest in a step", round(float(pauses.paused[-1]), 5), "s")
    yield Evidence("steps with a collection", len(pauses.paused))
    if pauses.early:
        change = round(pauses.late / pauses.early, 2)
        yield Evidence("second half against the first", change, "×")


def _collection(step: int, sofar: float) -> Placed:
    where = Place("train.py", 14, "f")
    number = step // 10 + 1
    return at(step, Gc(asked=True, stack=(where,), key=str(where), n=number, sum=sofar, took=0.01))


_OFTEN = [0.9 if step % 10 == 9 else 0.0 for step in range(200)]
GcPauses.FIRES = (
    Sketch("a tenth of each step", [0.01] * 100, phases={Phase.GC: 0.1}),
    Sketch("a share that grows", [0.01] * 100, phases={Phase.GC: [0.002 * n for n in range(100)]}),
    Sketch(
        "a call in every tenth step",
        [0.01] * 200,
        phases={Phase.GC: _OFTEN},
        facts=[_collection(step, 0.001 * (step + 1)) for step in range(9, 200, 10)],
    ),
)
GcPauses.QUIET = (
    Sketch("one per cent", [0.01] * 100, phases={Phase.GC: 0.01}),
    Sketch(
        "one long collection in the first step",
        [0.5] + [0.01] * 100,
        phases={Phase.GC: [0.9] + [0.0] * 100},
    ),
    Sketch(
        "a collection before each of three models",
        [0.3 if n in (1, 40, 80) else 0.01 for n in range(120)],
        phases={Phase.GC: [0.9 if n in (1, 40, 80) else 0.0 for n in range(120)]},
    ),
    Sketch(
        "collections while functions are traced",
        [0.1] * 100,
        phases={Phase.GC: 0.1, Phase.TRACE: 0.6},
    ),
)
