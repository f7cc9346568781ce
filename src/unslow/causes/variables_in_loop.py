"""Variables, metrics or optimizers are made in every step."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from unslow.analyse import wording as say
from unslow.analyse.memory.created_objects import MadeLine, made_often
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause, Spot
from unslow.facts.memory import Made
from unslow.model import Evidence, Finding, Forecast, Loop, Run
from unslow.syntax.library import Kind, made_by

if TYPE_CHECKING:
    from unslow.syntax import Source


class VariablesInLoop(Cause):
    """
    What happens
    A line in the training loop makes a `tf.Variable`, a metric or an optimizer in every step.

    Why it is slow
    Making a variable takes as long as many ops: memory is allocated, a handle is registered,
    the initial value is computed and copied. A new optimizer has lost its state, and a
    `tf.function` that gets a new variable is retraced. Where something keeps them (a list, a
    checkpoint, a graph), memory grows with the steps.

    The fix
    Make it once, before the loop. A metric has `reset_state()`, a variable has `assign()`.

    When we are wrong
    A loop may build something new in each turn on purpose, such as a model per fold.
    """

    title = "variables, metrics or optimizers are made in every step"
    reads = (Made,)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            lines = made_often(run, loop)
            if lines:
                yield self._finding(loop, sorted(lines, key=lambda line: -line.seconds))

    def _finding(self, loop: Loop, lines: Sequence[MadeLine]) -> Finding:
        # What an optimizer makes for itself at its first update, it makes because it is new.
        first = next((line for line in lines if "optimizer" in line.kinds), lines[0])
        seconds = min(sum(line.seconds for line in lines), loop.total)
        piling = [line for line in lines if line.piles_up]
        what = next(kind for kind in ("optimizer", "metric", "variable") if kind in first.kinds)
        often = "in every step" if first.per_step >= _EVERY_STEP else "in many steps"
        each = say.time(first.seconds / max(1, first.count))
        kept = f"; all {first.alive} of them are kept" if piling else ""
        return Finding(
            cause=self.id,
            title=f"{say.code(first.location)} makes {_a(what)} {often}: "
            f"{first.count} in {loop.steps} steps, {each} each{kept}",
            location=first.location,
            seconds=seconds,
            evidence=tuple(row for line in lines for row in _evidence(line)),
            grows=bool(piling),
            forecast=_forecast(loop, piling) if piling else None,
            advice=_ADVICE[what],
        )

    def spot(self, source: Source) -> Iterable[Spot]:
        if not source.step_loops or any(source.session_runs()):
            return  # in a graph a variable is a matter of graph-growth
        made: dict[int, list[tuple[ast.Call, str]]] = defaultdict(list)  # by the line of the loop
        for call in source.every(ast.Call):
            what = _KINDS.get(made_by(source.name(call.func)))
            loop = source.every_step(call) if what else None
            if what and loop is not None:
                made[loop.lineno].append((call, what))
        for line, calls in made.items():
            if {"variable", "optimizer"} <= {what for _, what in calls}:
                continue  # variable and optimizer are both new: each turn is its own training
            for call, what in calls:
                text = f"the loop at line {line} makes {_a(what)} in every step"
                yield source.spot(call, text, _INSTEAD[what])


def _evidence(line: MadeLine) -> Iterator[Evidence]:
    yield Evidence(f"made at {line.location}", line.count)
    yield Evidence("variables among them", line.variables)
    yield Evidence("time of making one", line.seconds / max(1, line.count), "s")
    yield Evidence("still there at the end", line.alive)


def _forecast(loop: Loop, piling: Sequence[MadeLine]) -> Forecast:
    steps = loop.steps * 10
    rate = sum(line.bytes / line.steps for line in piling)
    return Forecast(steps, bytes=rate * steps, text="held by what was made in the loop")


_EVERY_STEP = 0.9  # made per step
_KINDS = {Kind.VARIABLE: "variable", Kind.METRIC: "metric", Kind.OPTIMIZER: "optimizer"}
_INSTEAD = {
    "variable": "make the variable once, before the loop, and give it its value with assign(...)",
    "metric": "make the metric once, before the loop, and call reset_state() where it should "
    "start over",
    "optimizer": "make the optimizer once, before the loop: a new one has forgotten its momentum",
}
_ADVICE = {
    "variable": "Make the variable once, before the loop, and give it its value with `assign(…)`.",
    "metric": "Make the metric once, before the loop, and call its `reset_state()` where it should "
    "start over.",
    "optimizer": "Make the optimizer once, before the loop: a new one in every step has no "
    "momentum.",
}


def _a(what: str) -> str:
    return f"an {what}" if what[0] in "aeiou" else f"a {what}"


def _total(step: int, count: int, what: str = "variable", alive: int = 0, **more: float) -> Placed:
    usual = Made(
        what=what,
        count=count,
        took=0.002 * count,
        amount=4.0 * count,
        alive=alive,
        steps=step,
        stack=stack_at(11),
    )
    return at(step, usual.replace(**more))


VariablesInLoop.FIRES = (
    Sketch(
        "a variable in every step, a fifth of its time", facts=[_total(10, 10), _total(100, 100)]
    ),
    Sketch(
        "variables of 100 kB that are all kept",
        seconds=[0.1] * 100,
        facts=[
            _total(10, 10, alive=10, amount=1e6),
            _total(100, 100, alive=100, amount=1e7, took=0.01),
        ],
    ),
)
VariablesInLoop.QUIET = (
    Sketch("a metric per epoch of 20 steps", facts=[_total(100, 5, "metric")]),
    Sketch("a model's variables, before the first step", facts=[_total(0, 200)]),
    Sketch("an optimizer's own variables, in the first step", facts=[_total(1, 16, took=0.4)]),
    Sketch("the same, written after the third step", facts=[_total(3, 30, took=0.4)]),
    Sketch("one that costs next to nothing", seconds=[1.0] * 100, facts=[_total(100, 100)]),
)
