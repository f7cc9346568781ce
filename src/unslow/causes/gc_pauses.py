"""Python's garbage collector takes a share of the steps."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.graphs.unusual_calls import calls_after_resets
from unslow.analyse.memory.collections import AskedCollections, asked_collections
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause, Spot
from unslow.facts.functions import UnusualCall
from unslow.facts.memory import Gc
from unslow.facts.schema import Place
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import delete
from unslow.model import (
    Evidence,
    Finding,
    Fix,
    Forecast,
    Loop,
    Phase,
    Refusal,
    Run,
    Safety,
)

if TYPE_CHECKING:
    from unslow.model import Floats
    from unslow.syntax import Source

_SHARE = 0.05
_GROWN = 1.5
_AGAIN = 8  # steps with a pause: fewer are the end of a set-up, or of one model of a search
_LARGEST = 2  # pauses that may be such an end, and without which it must still be worth a word
_TREND = 10  # steps with a pause in each half, so that the halves can be compared


@dataclass(frozen=True)
class _Pauses:
    """The collector's seconds in each row, without those of building and tracing."""

    rows: Floats
    steady: float  # seconds of all these rows
    early: float  # per step, in the first half
    late: float
    grows: bool

    @property
    def total(self) -> float:
        return float(self.rows.sum())


@dataclass(frozen=True)
class _Asked:
    """Whether a line of the program asks for the collections."""

    by_program: bool


class GcPauses(Cause):
    """
    What happens
    Python's collector stops the training again and again to look through all objects for
    cycles. It takes a noticeable share of the steps.

    Why it is slow
    A full collection visits every tracked object of the process, and TensorFlow alone has
    hundreds of thousands. The more objects the program keeps alive, the longer each one takes,
    so a program that gathers objects gets slower with time.

    The fix
    Where the script itself calls `gc.collect()` in the loop: take the call out, or make it once
    per epoch. What no cycle holds is freed without it. Otherwise call `gc.collect()` and
    `gc.freeze()` once after the set-up, so that what exists by then is never visited again, or
    raise the threshold with `gc.set_threshold(50_000, 20, 100)`. If the share grows, something
    gathers objects: that is the thing to mend.

    When we are wrong
    Where memory is short the collections may be needed; freezing costs memory that cycles would
    have given back. Collections while a graph is built or traced are not counted: they go away
    with the building. Those of the youngest objects alone, which are short and many, are not
    counted either.
    """

    title = "the garbage collector takes a share of the steps"
    reads = (Gc, UnusualCall)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            yield from self._judge(run, loop)

    def _judge(self, run: Run, loop: Loop) -> Iterable[Finding]:
        if len(loop.seconds) < 20:
            return
        found = _pauses(loop)
        paused = np.sort(found.rows[found.rows > 0])
        if len(paused) < _AGAIN or float(paused[:-_LARGEST].sum()) < _SHARE * found.steady:
            return
        asked = asked_collections(run, loop)
        resets = {str(where) for where in calls_after_resets(run)}  # told by kernels-rebuilt
        worth = [each for each in asked if each.seconds >= _SHARE * found.steady]
        for each in worth:
            if str(each.location) not in resets:
                yield self._asked_for(loop, found, each)
        others = found.total - sum(each.seconds for each in worth)
        if others >= _SHARE * found.steady:
            yield self._automatic(loop, found, others)

    def _asked_for(self, loop: Loop, found: _Pauses, asked: AskedCollections) -> Finding:
        seconds = min(asked.seconds, found.total)
        more = ", and more and more" if found.grows else ""
        return Finding(
            cause=self.id,
            title=f"{say.code(asked.location)} takes {say.share(seconds / loop.total)} of the "
            f"steps{more}",
            location=asked.location,
            seconds=seconds,
            grows=found.grows,
            forecast=_forecast(loop, found) if found.grows else None,
            evidence=(
                *_evidence(loop, found, seconds),
                Evidence("collections that this line asks for", asked.calls),
            ),
            advice="Take the call out, or make it once per epoch: what no cycle holds is freed "
            "without it.",
            detail=_Asked(True),
        )

    def _automatic(self, loop: Loop, found: _Pauses, seconds: float) -> Finding:
        more = ", and more and more" if found.grows else ""
        return Finding(
            cause=self.id,
            title=f"the garbage collector takes {say.share(seconds / loop.total)} of the "
            f"steps{more}",
            location=loop.location,
            seconds=seconds,
            grows=found.grows,
            forecast=_forecast(loop, found) if found.grows else None,
            evidence=_evidence(loop, found, seconds),
            advice="After the set-up, in front of the loop: "
            "`import gc; gc.collect(); gc.freeze()`.",
            detail=_Asked(False),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where = finding.location
        if where is None or finding.detail != _Asked(True):
            return None
        calls = [node for node in script.every(ast.Call) if script.name(node.func) == "gc.collect"]
        here = [node for node in calls if script.recorded(node) == where.line]
        if len(here) != 1:
            return Refusal("the collection is asked for by something that this line calls", where)
        if not isinstance(script.parents[here[0]], ast.Expr):
            return Refusal("what `gc.collect()` gives back is used", where)
        return Fix(
            "take `gc.collect()` out of the loop",
            Safety.EXACT,
            {where.file: delete(script, where.line).text},
        )

    def spot(self, source: Source) -> Iterable[Spot]:
        for call in source.calls("gc.collect"):
            loop = source.every_step(call)
            if loop is not None:
                yield source.spot(
                    call,
                    f"the loop at line {loop.lineno} looks through all objects of the process in "
                    f"every step",
                    "gc.collect() and gc.freeze() once, before the loop; or every thousand steps",
                )


def _pauses(loop: Loop) -> _Pauses:
    table, count = loop.phases[1:], loop.count[1:]
    built = table[:, Phase.TRACE] + table[:, Phase.BUILD]
    each = np.where(built > table[:, Phase.GC], 0.0, table[:, Phase.GC])
    half = len(each) // 2
    early = float(np.average(each[:half], weights=count[:half]))
    late = float(np.average(each[half:], weights=count[half:]))
    often = min(int((each[:half] > 0).sum()), int((each[half:] > 0).sum())) >= _TREND
    steady = max(1e-12, float((loop.seconds[1:] * count).sum()))
    return _Pauses(each * count, steady, early, late, often and late > _GROWN * early > 0)


def _evidence(loop: Loop, found: _Pauses, seconds: float) -> tuple[Evidence, ...]:
    paused = found.rows[found.rows > 0]
    evidence = [
        Evidence("in collections", round(seconds, 3), "s"),
        Evidence("share of the steps", round(100 * seconds / loop.total, 1), "%"),
        Evidence("longest in a step", round(float(paused.max()), 5), "s"),
        Evidence("steps with a collection", len(paused)),
    ]
    if found.early:
        change = round(found.late / found.early, 2)
        evidence.append(Evidence("second half against the first", change, "×"))
    return tuple(evidence)


def _forecast(loop: Loop, found: _Pauses) -> Forecast:
    """Along the line through the middles of the two halves."""
    per_step = (found.late - found.early) / (loop.steps / 2)
    rest = (found.steady - found.total) / max(1, loop.steps - 1)
    step = loop.steps * 10
    return Forecast(step=step, step_seconds=rest + found.early + per_step * (step - loop.steps / 4))


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
