"""The optimizer rewrites a whole table in every step for the few rows of a batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.graphs.session_feeds import fed_values
from unslow.analyse.host.step_profile import (
    Op,
    StepProfile,
    Window,
    kernels_named,
    repeated,
    updating,
    windows,
)
from unslow.analyse.input import waits as waits_module
from unslow.analyse.input.waits import waits
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.analyse.sketches.windows import profiled
from unslow.cause import LEAST_SHARE, CannotJudge, Cause
from unslow.facts.keras import Fit
from unslow.facts.memory import Table, Weights
from unslow.facts.profiler import ProfilerWindow
from unslow.facts.sessions import Feed, InspectedRun
from unslow.model import Certainty, Evidence, Finding, Loop, Phase, Run

_FEW_ROWS = 0.2  # of the table; a judgement: where more are used, little can be saved
# Numbers that optimizers keep per weight; plain SGD keeps none and updates only the used rows.
_SLOTS = {
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
_SEPARATE_OPTIMIZER = (
    "Update {name} with a separate plain SGD, which only touches the rows of the batch, and the "
    "rest with {optimizer}; or make the table smaller."
)
# Of TensorFlow 1, whose AdagradOptimizer has a kernel for sparse gradients.
_ADAGRAD = (
    " `tf.train.AdagradOptimizer`, with a larger learning rate, leaves unused rows alone too: it "
    "can stand in for {optimizer} as it is."
)
_LOOK_UP_FIRST = (
    "The program looks up rows in a result that it computes from all of {name}, so the gradient "
    "has all rows: look up the rows first, and change only those (multiply the result of "
    "`tf.gather` by the mask)."
)
_PENALIZE_ROWS = (
    "The loss has a penalty on all of {name}, so the gradient has all rows: penalize only the rows "
    "that the batch looked up (`tf.nn.l2_loss` of the result of `tf.gather`)."
)
_INDICES = ("int32", "int64")


class DenseUpdates(Cause):
    """
    What happens
    A batch looks up a few rows of a large table (an embedding), so only these rows have a
    gradient. The optimizer still updates every row of the table, and its own tables of the same
    size, in each step. Or the loss adds a penalty on the whole table (weight decay), which gives
    every row a gradient.

    Why it is slow
    Adam, RMSprop and others keep running averages for every weight, which decay in every step
    whether or not the row was used. A penalty on the whole table makes its gradient as large as the
    table: it is built, summed and applied in each step. The cost of a step depends on the size of
    the table, not on the size of the batch.

    The fix
    Give the table an optimizer that leaves unused rows alone: plain SGD for the table and Adam for
    the rest (two optimizers for two lists of variables), or use a smaller table (hashing, fewer
    dimensions). Apply a penalty to the rows that the batch looked up instead of the whole table.
    This changes how the table learns, so check the result.

    When we are wrong
    The optimizer's time is divided among its variables by size. On an accelerator the same work
    may be cheap; the profile then shows it.
    """

    title = "the optimizer rewrites whole tables for a few rows"
    reads = (Weights, ProfilerWindow, Fit, Feed, InspectedRun, *waits_module.READS)
    from_the_start = "the gradients of a compiled step are seen when it is traced"
    deeper_than = ("compute-bound",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            for weights in run.facts(Weights, loop.process):
                if weights.tables:
                    yield from self._judge(run, loop, weights)

    def _judge(self, run: Run, loop: Loop, weights: Weights) -> Iterable[Finding]:
        used = [
            _Used(table, touched)
            for table in weights.tables
            if (touched := _rows(run, loop, table))
        ]
        sparse = [each for each in used if each.touched <= _FEW_ROWS * each.table.rows]
        if not sparse:
            return
        seen = windows(run, loop)
        if not seen:
            raise CannotJudge("the run was too short for a profiler window")
        window = seen[-1]
        update = updating(window, weights.scope)
        lost = sum(
            each.unused * (update * each.table.bytes / max(weights.bytes, 1.0) + each.built(window))
            for each in sparse
        )
        seconds = min(1.0, lost / window.wall) * repeated(loop)
        if seconds < LEAST_SHARE * run.trained:
            return
        largest = max(sparse, key=lambda each: each.table.bytes)
        yield self._finding(run, loop, weights, _Cost(largest, seconds, lost, update, window))

    def _finding(self, run: Run, loop: Loop, weights: Weights, cost: _Cost) -> Finding:
        table, touched = cost.largest.table, cost.largest.touched
        name, optimizer = table.name or "a table", weights.optimizer
        slots = _SLOTS.get(optimizer.removesuffix("Optimizer"), int(weights.momentum))
        stack = weights.made or weights.stack
        evidence = [
            Evidence("rows of the table", table.rows),
            Evidence("rows in a batch, at most", touched),
            Evidence("bytes of the table", table.bytes, "bytes"),
            Evidence("bytes that the optimizer keeps for it", slots * table.bytes, "bytes"),
            Evidence("the optimizer's kernels, per step", cost.update, "s"),
            Evidence("a step", cost.window.wall, "s"),
        ]
        if table.built_by:
            built = cost.largest.built(cost.window)
            evidence.insert(-1, Evidence("building its gradient, per step", built, "s"))
        return Finding(
            cause=self.id,
            location=say.place(run, stack[0] if stack else loop.update),
            seconds=cost.seconds,
            certainty=Certainty.LIKELY,
            title=f"{optimizer} rewrites all {table.rows:,} rows of {name} in each step for "
            f"{touched:,}: {say.time(cost.lost)} of {say.time(cost.window.wall)}",
            evidence=tuple(evidence),
            advice=_advice(table, optimizer).format(name=name, optimizer=optimizer),
        )


@dataclass(frozen=True)
class _Used:
    """A table, and how many of its rows a batch looks up."""

    table: Table
    touched: int

    @property
    def unused(self) -> float:
        return 1 - self.touched / self.table.rows

    def built(self, window: Window) -> float:
        """Seconds per step in kernels that build its gradient, all rows of it."""
        return kernels_named(window, self.table.built_by)


@dataclass(frozen=True)
class _Cost:
    """What rewriting whole tables costs."""

    largest: _Used
    seconds: float
    lost: float  # per step
    update: float  # the optimizer's kernels, per step
    window: Window


def _advice(table: Table, optimizer: str) -> str:
    if table.penalized:
        return _PENALIZE_ROWS
    if table.dense:
        return _LOOK_UP_FIRST
    of_sessions = optimizer.endswith("Optimizer") and optimizer != "AdagradOptimizer"
    return _SEPARATE_OPTIMIZER + (_ADAGRAD if of_sessions else "")


def _rows(run: Run, loop: Loop, table: Table) -> int:
    """Rows of a table in a batch, at most; 0 if unknown."""
    return table.touched or _batch_rows(run, loop)


def _batch_rows(run: Run, loop: Loop) -> int:
    """Rows in a batch if the graph leaves them open; 0 if unknown."""
    fits = [fit for fit in run.facts(Fit) if loop.holds(fit) or fit.time <= loop.start]
    sizes = [fit.batch_size for fit in fits if fit.batch_size]
    if sizes:
        return int(sizes[-1])
    # What a session looks up was fed to it as integers: the rows of the largest such value.
    fed = [value.elements for value in fed_values(run, loop) if value.last.wanted in _INDICES]
    if fed:
        return max(fed)
    pipelines = [wait.pipeline for wait in waits(run) if wait.loop is loop]
    return int(max((each.batch_size for each in pipelines if each), default=0))


def _weights(touched: int) -> Placed:
    table = Table(name="embedding", rows=100_000, bytes=12.8e6, touched=touched)
    made = stack_at(4, "f")
    return at(1, Weights(optimizer="Adam", scope="adam", bytes=13e6, tables=(table,), made=made))


def _seen(share: float) -> Placed:
    update = Op("adam/Mul_2", "Mul", 10, 0.1 * share)
    rest = Op("dense/MatMul", "MatMul", 10, 0.09 - 0.1 * share)
    return profiled(StepProfile(kernels=0.095, executor=0.098, ops=(update, rest)))


def _fit(batch_size: int) -> Placed:
    return at(0, Fit(stack=stack_at(10), batch_size=batch_size))


def _penalized(kind: str = "int32") -> list[Placed]:
    """A session whose loss has a penalty on a table; what it is fed says how much it looks up."""
    table = Table(
        name="users:0",
        rows=100_000,
        bytes=12.8e6,
        dense=True,
        penalized=True,
        built_by=("gradients/AddN", "gradients/L2Loss_grad/mul"),
    )
    optimizer = "GradientDescentOptimizer"
    weights = Weights(optimizer=optimizer, scope="GradientDescent", bytes=13e6, tables=(table,))
    ops = (
        Op("GradientDescent/update_users/ResourceApply", "ResourceApplyGradientDescent", 10, 0.002),
        Op("gradients/AddN", "AddN", 10, 0.03),
        Op("gradients/L2Loss_grad/mul", "Mul", 10, 0.02),
        Op("dense/MatMul", "MatMul", 10, 0.038),
    )
    fed = Feed(cycle=8, name="ids:0", type="ndarray", wanted=kind, elements=512, stack=_UPDATE)
    return [
        at(1, weights),
        profiled(StepProfile(kernels=0.09, executor=0.095, ops=ops)),
        at(8, InspectedRun(cycle=8, updates=True, stack=_UPDATE)),
        at(8, fed),
    ]


_UPDATE = stack_at(11, "f")
_RUN = {Phase.RUN: 1.0}
DenseUpdates.FIRES = (
    Sketch(
        "a batch of 512 rows, which the graph leaves open",
        phases=_RUN,
        facts=[_weights(0), _seen(0.7), _fit(512)],
    ),
    Sketch("500 of 100,000 rows", phases=_RUN, facts=[_weights(500), _seen(0.7)]),
    Sketch(
        "a penalty on the whole table, in a session that is fed 512 indices",
        phases=_RUN,
        style="session",
        facts=_penalized(),
    ),
)
DenseUpdates.QUIET = (
    Sketch("half of the rows", phases=_RUN, facts=[_weights(50_000), _seen(0.7)]),
    Sketch(
        "a batch of unknown size looks up rows of a small table",
        phases=_RUN,
        facts=[_weights(0), _seen(0.7), _fit(30_000)],
    ),
    Sketch(
        "a penalty on a table, and nothing that is fed can be an index",
        phases=_RUN,
        style="session",
        facts=_penalized("float32"),
    ),
    Sketch("the update is cheap", phases=_RUN, facts=[_weights(500), _seen(0.03)]),
)
