"""The optimizer rewrites a whole table in every step for the few rows of a batch."""

from __future__ import annotations

from collections.abc import Iterable

from unslow.analyse import wording as say
from unslow.analyse.host.step_profile import (
    Op,
    SketchedWindow,
    StepProfile,
    repeated,
    updating,
    windows,
)
from unslow.analyse.input import waits as waits_module
from unslow.analyse.input.waits import waits
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import CannotJudge, Cause
from unslow.facts.keras import Fit
from unslow.facts.memory import Table, Weights
from unslow.facts.profiler import ProfilerWindow
from unslow.facts.schema import Place
from unslow.model import Certainty, Evidence, Finding, Location, Loop, Phase, Run

_WORTH = 0.05  # of the training time
_FEW = 0.2  # of the rows
# Numbers that optimizers keep per weight; plain SGD keeps none and updates the rows alone.
_KEEPS = {
    "Adam": 2,
    "AdamW": 2,
    "Nadam": 2,
    "Adamax": 2,
    "RMSprop": 1,
    "Adagrad": 1,
    "Adadelta": 2,
    "Lion": 1,
    "Ftrl": 2,
}


_FIT = (Place("train.py", 10, "<module>"),)


def _weights(touched: int) -> Placed:
    table = Table(name="embedding", rows=100_000, bytes=12.8e6, touched=touched)
    return at(
        1,
        Weights(
            optimizer="Adam",
            scope="adam",
            bytes=13e6,
            tables=(table,),
            made=(Place("train.py", 4, "f"),),
        ),
    )


def _seen(share: float) -> Placed:
    update = Op("adam/Mul_2", "Mul", 10, 0.1 * share)
    rest = Op("dense/MatMul", "MatMul", 10, 0.09 - 0.1 * share)
    profile = StepProfile(kernels=0.095, executor=0.098, ops=(update, rest))
    return at(50, SketchedWindow(steps=10, step=50, wall=0.1, profile=profile))


class DenseUpdates(Cause):
    """
    What happens
    A batch looks up a few rows of a large table (an embedding), so only these have a gradient.
    The optimizer still goes through all rows of the table, and through its own tables of the
    same size, in each step.

    Why it is slow
    Adam, RMSprop and others keep running means for every weight, which fade a little in every
    step whether or not the row was used. The cost of a step follows the size of the table, not
    of the batch.

    The fix
    Give the table an optimizer that leaves unused rows alone: plain SGD for the table and Adam
    for the rest (two optimizers over two lists of variables), or a smaller table (hashing,
    fewer dimensions). The choice changes how the table learns, so it must be tried.

    When we are wrong
    The optimizer's time is split among its variables by their sizes. On an accelerator the same
    work may be cheap, which the profile would show.
    """

    title = "the optimizer rewrites whole tables for a few rows"
    reads = (Weights, ProfilerWindow, Fit, *waits_module.READS)
    from_the_start = "the gradients of a compiled step are seen when it is traced"
    deeper_than = ("compute-bound",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            for weights in run.facts(Weights):
                if weights.process == loop.process and weights.tables:
                    yield from self._judge(run, loop, weights)

    def _judge(self, run: Run, loop: Loop, weights: Weights) -> Iterable[Finding]:
        table = max(weights.tables, key=lambda each: each.bytes)
        touched, rows = table.touched or _batch_rows(run, loop), table.rows
        if not touched or touched > _FEW * rows:
            return
        looked = windows(run, loop)
        if not looked:
            raise CannotJudge("the run was too short for a profiler window")
        window = looked[-1]
        update = updating(window, weights.scope)
        part = table.bytes / max(weights.bytes, 1.0)
        spent = update * part * (1 - touched / rows)
        seconds = min(1.0, spent / window.wall) * repeated(loop)
        if seconds < _WORTH * run.trained:
            return
        optimizer = weights.optimizer
        keeps = _KEEPS.get(optimizer.removesuffix("Optimizer"), int(weights.momentum))
        name = table.name or "a table"
        advice = _LOOK_UP_FIRST if table.dense else _APART
        yield Finding(
            cause=self.id,
            location=_where(run, loop, weights),
            seconds=seconds,
            certainty=Certainty.LIKELY,
            title=f"{optimizer} rewrites all {rows:,} rows of {name} in each step for {touched:,}: "
            f"{say.time(spent)} of {say.time(window.wall)}",
            evidence=(
                Evidence("rows of the table", rows),
                Evidence("rows in a batch, at most", touched),
                Evidence("bytes of the table", table.bytes, "bytes"),
                Evidence("bytes that the optimizer keeps for it", keeps * table.bytes, "bytes"),
                Evidence("the optimizer's kernels, per step", update, "s"),
                Evidence("a step", window.wall, "s"),
            ),
            advice=advice.format(name=name, optimizer=optimizer),
        )

    FIRES = (
        Sketch(
            "a batch of 512 rows, which the graph leaves open",
            phases={Phase.RUN: 1.0},
            facts=[_weights(0), _seen(0.7), at(0, Fit(stack=_FIT, batch_size=512))],
        ),
        Sketch("500 of 100,000 rows", phases={Phase.RUN: 1.0}, facts=[_weights(500), _seen(0.7)]),
    )
    QUIET = (
        Sketch("half of the rows", phases={Phase.RUN: 1.0}, facts=[_weights(50_000), _seen(0.7)]),
        Sketch(
            "a batch of unknown size looks up rows of a small table",
            phases={Phase.RUN: 1.0},
            facts=[_weights(0), _seen(0.7), at(0, Fit(stack=_FIT, batch_size=30_000))],
        ),
        Sketch("the update is cheap", phases={Phase.RUN: 1.0}, facts=[_weights(500), _seen(0.03)]),
    )


_APART = (
    "Update {name} with a plain SGD of its own, which touches the rows of the batch only, and "
    "the rest with "
    "{optimizer}; or make the table smaller."
)
_LOOK_UP_FIRST = (
    "What is looked up is not {name} itself, but what the program makes of all of it, so the "
    "gradient has all rows "
    "too: look up the rows first, and change only those (multiply what `tf.gather` gives by the "
    "mask)."
)


def _batch_rows(run: Run, loop: Loop) -> int:
    """Rows in a batch where the graph does not tell; 0 where nothing does."""
    fits = [fit.batch_size for fit in run.facts(Fit) if loop.holds(fit) or fit.time <= loop.start]
    known = [size for size in fits if size]
    if known:
        return int(known[-1])
    sizes = [wait.pipeline.batch_size for wait in waits(run) if wait.loop is loop and wait.pipeline]
    return int(max(sizes, default=0.0))


def _where(run: Run, loop: Loop, weights: Weights) -> Location:
    """The line that made the optimizer; the update where that is not known."""
    stack = weights.made or weights.stack
    return say.place(run, stack[0] if stack else loop.update)
