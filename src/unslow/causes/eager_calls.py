"""Models or ops are called op by op, in a loop, outside of the training step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from unslow.analyse import wording as say
from unslow.analyse.graphs.eager_calls import READS, EagerCalls, eager_calls
from unslow.analyse.grouping import grouped
from unslow.analyse.places import line_of
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.analyse.stretches import AFTER, BETWEEN, PROGRAM, SETUP
from unslow.cause import LEAST_SHARE, Cause
from unslow.facts.eager import EagerOps
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.compile_call import compile_call
from unslow.fix.moves.stack_before_convert import stacked
from unslow.model import (
    Certainty,
    Evidence,
    Finding,
    Fix,
    Location,
    Phase,
    Refusal,
    Run,
    Safety,
    Sample,
)

_WHEN = {  # by stretch of the account
    "": " between the updates",
    PROGRAM: "",
    SETUP: " in the set-up",
    BETWEEN: " between loops",
    AFTER: " after the last step",
}


@dataclass(frozen=True)
class _Called:
    """What is known of the line's call."""

    model: bool  # Keras runs a layer or model below it


class RepeatedEagerCalls(Cause):
    """
    What happens
    A Python loop calls a model or single TensorFlow ops, and each op runs separately: rollouts in
    reinforcement learning, text sampling, feature extraction, hand-written metrics, augmentation,
    simulations.

    Why it is slow
    Dispatching one op from Python takes tens of microseconds, whatever it computes. A model of
    twenty layers dispatches hundreds of ops per call. A compiled function is dispatched once.

    The fix
    Put the body of the loop into a function with `@tf.function`, or use `act =
    tf.function(model)` for a model. If elements do not depend on each other, handle many in one
    call (`tf.vectorized_map`, a batch dimension, `Dataset.map`). For Keras models with small
    inputs, `model.predict_on_batch(x)` is already compiled. Keep shapes fixed, or the function is
    retraced for each new shape.

    When we are wrong
    The gain is estimated from what the ops compute and what a compiled call costs. If the ops
    themselves are large, nothing is reported. Code that must see every value in Python cannot be
    compiled as a whole.
    """

    title = "ops are called one by one from Python"
    reads = READS
    deeper_than = ("python-overhead",)

    def detect(self, run: Run) -> Iterable[Finding]:
        """A line counts with all that it costs, in the steps, between loops and after them."""
        whole = max(run.seconds, run.trained)
        by_line = grouped(eager_calls(run), lambda found: line_of(found.location))
        for calls in by_line.values():
            if sum(found.saved for found in calls) >= LEAST_SHARE * whole:
                yield from (self._finding(run, found) for found in calls)

    def _finding(self, run: Run, found: EagerCalls) -> Finding:
        where = say.place(run, found.location)
        stretch = found.region.stretch
        rate = say.estimate(found.ops_per_second)
        common = ", ".join(f"{name} ({count})" for name, count in found.top[:4])
        return Finding(
            cause=self.id,
            title=f"{say.code(where)} runs op by op{_WHEN[stretch]}: "
            f"{rate:,} ops per second, {say.time(found.seconds)} in all",
            location=where,
            seconds=found.saved,
            certainty=Certainty.LIKELY,
            stretch=stretch,
            evidence=(
                Evidence("in TensorFlow called from this line", found.seconds, "s"),
                Evidence("expected of a compiled function", found.seconds - found.saved, "s"),
                Evidence("ops per second", rate),
                Evidence("least cost of dispatching one op", found.floor, "s"),
                Evidence("most frequent ops", common),
            ),
            advice="Compile what the loop calls with @tf.function, or handle many elements in one "
            "call.",
            detail=_Called(found.calls_model),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        line, calls_model = finding.place.line, finding.detail_of(_Called).model
        try:
            converted, through = stacked(script, line), "convert sequences by way of NumPy"
        except CannotEdit:
            converted, through = script, ""
        try:
            compiled = compile_call(converted, line, calls_model)
        except CannotEdit:
            if converted is script:
                raise
            return Fix(through, Safety.CLOSE, converted.files)
        title = f"compile `{compiled.name}`"
        if through:
            title = f"{title} and {through}"
        return Fix.close(title, compiled.script.files, compiled.draws)


def _window(step: int, kernels: float, outside: bool = False, ops: int = 200) -> Placed:
    stack = stack_at(11)
    return at(
        step,
        EagerOps(
            step=step,
            ops=ops,
            took=4e-5 * ops,
            floor=2e-5,
            kernels=kernels,
            wall=5e-5 * ops,
            lines=((stack, 200, 0.008),),
            top=(("MatMul", 100),),
            outside=outside,
        ),
    )


def _changed(window: Placed, **values: object) -> Placed:
    return at(window.step, window.fact.replace(**values))


def _sampled(start: float, end: float, leaf: str = "tensorflow") -> Sample:
    here = (Location("train.py", 11, "<module>"),)
    return Sample(here, leaf, 0, True, 50, 50, 100, Phase.OTHER, ((start, end, 100),))


_SOURCE = "\n" * 9 + "for step in data:\n    act = model(state)\n    train(x)\n"
_AFTER = "\n" * 9 + "for step in data:\n    for row in rows: model(row)\n    train(x)\n"
_BEFORE = "\n" * 9 + "for row in rows:\n    model(row)\ntrain()\n"
_BETWEEN_UPDATES = Sketch(
    "a model is called op by op between compiled updates",
    phases={Phase.RUN: 0.2},
    style="function",
    facts=[_window(8, 0.001), _window(16, 0.001)],
    samples=[_sampled(1.0, 2.0)],
    source=_SOURCE,
)
_ONCE_PER_EPOCH = Sketch(
    "a model is called op by op once per epoch, in few of the steps",
    phases={Phase.RUN: 0.7},
    style="function",
    facts=[
        _changed(_window(9, 0.0, ops=1), lines=()),
        _changed(_window(50, 0.001), outside=True),
    ],
    samples=[_sampled(1.0, 2.0)],
    source=_AFTER,
)
_IN_SET_UP = Sketch(
    "features are computed op by op before the training",
    style="function",
    before=10.0,
    facts=[_window(0, 0.001, outside=True)],
    samples=[_sampled(0.0, 10.0)],
    source=_BEFORE,
)
RepeatedEagerCalls.FIRES = (
    _BETWEEN_UPDATES,
    replace(
        _BETWEEN_UPDATES,
        says="a dozen ops for each element of a dataset",
        phases={},
        style="data",
        facts=[_window(step, 0.00005, ops=13) for step in (5, 9, 17, 33, 65)],
    ),
    _IN_SET_UP,
    _ONCE_PER_EPOCH,
    replace(
        _ONCE_PER_EPOCH,
        says="the same after the last step, where no window was open",
        phases={Phase.RUN: 1.0},
        after=2.0,
        facts=[_changed(_window(50, 0.001), outside=True)],
        samples=[_sampled(2.0, 4.0)],
    ),
)
RepeatedEagerCalls.QUIET = (
    replace(
        _BETWEEN_UPDATES,
        says="ops that compute all the time",
        facts=[_window(8, 0.0095), _window(16, 0.0095)],
    ),
    replace(
        _IN_SET_UP,
        says="products of large matrices for most of a long set-up: compiling would save 16% of it",
        facts=[_window(0, 0.008, outside=True)],
    ),
    replace(
        _IN_SET_UP,
        says="a few ops around long calls of a loaded function",
        facts=[_window(0, 0.0001, outside=True, ops=20)] * 3,
        source="\n" * 9 + "for row in rows:\n    serve(row)\n" + "train()\n",
    ),
    replace(
        _IN_SET_UP,
        says="a line that is not in a loop",
        source="\n" * 10 + "model(row)\n" + "train()\n",
    ),
    replace(
        _IN_SET_UP,
        says="pictures are encoded one by one: every op computes",
        facts=[_changed(_window(0, 0.0, outside=True), floor=1e-3, wall=0.205)],
    ),
    replace(
        _IN_SET_UP,
        says="a model is built in each turn",
        facts=[_changed(_window(0, 0.0, outside=True), top=(("VarHandleOp", 40), ("Fill", 30)))],
    ),
)
