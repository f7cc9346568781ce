"""A Python loop inside a compiled function became thousands of graph nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from unslow.analyse import wording as say
from unslow.analyse.graphs import unrolling
from unslow.analyse.graphs.unrolling import UnrolledLoop as Unrolling
from unslow.analyse.graphs.unrolling import unrolled_loops
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause, Spot
from unslow.facts.functions import FunctionTotals, Unrolled, UnusualCall
from unslow.facts.schema import Place
from unslow.model import Certainty, Evidence, Finding, Fix, Refusal, Run
from unslow.syntax import own_nodes

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script
    from unslow.syntax import Source

_FEWEST_TURNS = 32  # of a loop in source; a judgement: fewer make a graph that nobody notices
_WORTH = 0.5  # seconds before the first step (judgement)


@dataclass(frozen=True)
class Detail:
    """What the fix needs to know."""

    loop: int | None  # line of the Python loop that can become a loop of the graph


class UnrolledLoop(Cause):
    """
    What happens
    A Python loop (`for t in range(100)`) runs while a `tf.function` is traced, not while it trains.
    Each iteration adds its ops to the graph, so the graph holds the body a hundred times, and its
    gradients too.

    Why it is slow
    Tracing, optimizing and loading a graph takes time for every node: seconds to minutes before the
    first step, and again after each new trace. The steps themselves are not slower: per step, an
    unrolled loop is even faster.

    The fix
    `for t in tf.range(100)` makes one loop of the graph (with a `tf.TensorArray` where results are
    collected), and so do `tf.scan`, `tf.while_loop` and `keras.layers.RNN`. Or unroll only a part:
    ten iterations in a loop of ten. AutoGraph does not convert the `call` of a Keras layer: there
    only the functions help. Do not decorate `call` with `@tf.function`: it would keep a trace that
    Keras made before the layer had its weights, and never train them.

    When we are wrong
    In a long run the faster steps of the unrolled loop may pay for the slow start. The finding says
    from how many steps on.
    """

    title = "a Python loop became thousands of graph nodes"
    reads = unrolling.READS
    from_the_start = "what it costs is spent when a step is traced"
    deeper_than = ("slow-first-step",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for unrolled in unrolled_loops(run):
            if unrolled.once >= _WORTH:
                yield self._finding(run, unrolled)

    def _finding(self, run: Run, unrolled: Unrolling) -> Finding:
        fact, loop, slower = unrolled.fact, unrolled.loop, unrolled.slower_step
        saved = unrolled.once - slower * loop.steps
        enough = say.estimate(unrolled.once / slower)
        what = "this Python loop is unrolled"
        if unrolled.by_library:
            what = "a layer that is called here unrolls its loop"
        first = "first step" if loop.trains else "first result"
        title = f"{what} {fact.repeats} times: {fact.nodes:,} nodes, "
        title += f"{say.time(unrolled.extra)} before the {first}"
        if saved <= 0:
            title += f"; that pays from {enough:,} steps on, and this run has {loop.steps:,}"
        where = unrolled.location(run)
        in_place = not unrolled.by_library and not fact.session
        return Finding(
            cause=self.id,
            title=title,
            location=where,
            seconds=max(0.0, saved),
            fault=saved > 0,
            certainty=Certainty.LIKELY,
            evidence=(
                Evidence("nodes in the graph", fact.nodes),
                Evidence("of them in the repeated body", fact.repeated),
                Evidence("iterations", fact.repeats),
                Evidence("time of the first calls, beyond a usual one", unrolled.extra, "s"),
                Evidence("a loop of the graph adds to a step, about", slower, "s"),
                Evidence("steps from which on unrolling pays", enough),
                Evidence("steps of this run", loop.steps),
            ),
            advice=f"{_instead(unrolled)} for runs of fewer than about {enough:,} steps; in longer "
            "ones the unrolled loop is faster.",
            in_first_step=True,
            detail=Detail(loop=where.line if in_place else None),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        detail = finding.detail_of(Detail)
        if detail.loop is None:
            return None
        from unslow.fix.moves.compile_call import draws_in_graph
        from unslow.fix.moves.graph_loop import loop_function, loops_to_graph

        loop = script.statement_at(detail.loop)
        draws = loop is not None and draws_in_graph(script, [loop])
        title = f"Make it a loop of the graph: {loop_function(script, detail.loop)} for range"
        files = {script.path: loops_to_graph(script, detail.loop).text}
        return Fix.close(title, files, draws)

    def spot(self, source: Source) -> Iterable[Spot]:
        for loop in source.every(ast.For):
            trace, turns = source.trace_of(loop), source.turns_of(loop) or 0
            if trace is None or not isinstance(loop.iter, ast.Call) or turns < _FEWEST_TURNS:
                continue
            if any(source.adds_ops(node) for node in own_nodes(loop)):
                yield source.spot(
                    loop,
                    f"this loop is unrolled when {trace.name} is traced: its ops are put into the "
                    f"graph {turns} times",
                    f"for {ast.unparse(loop.target)} in tf.{ast.unparse(loop.iter)}: one loop in "
                    "the graph, if its tensors keep their shapes",
                )


def _instead(unrolled: Unrolling) -> str:
    if unrolled.by_library:
        return "Give the layer `unroll=False`"
    if unrolled.fact.session:
        return "Make it one loop of the graph (`tf.while_loop`, `tf.nn.dynamic_rnn`)"
    if "keras" in PurePath(unrolled.fact.place.file).parts:
        # Seen on Keras 3.15: AutoGraph converts neither `call` nor `train_step` of a class.
        return "Make it one loop of the graph (`tf.while_loop`, `tf.scan`)"
    return "Loop over `tf.range(…)` instead of `range(…)`"


_UNROLLED = Unrolled(
    name="step",
    place=Place("train.py", 3, "step"),
    nodes=9000,
    repeats=100,
    repeated=8100,
    each=40,
    touches=300,
    loop=(0, 6, 8),
    stack=stack_at(7, "step"),
)


def _facts(first: float, seen: Unrolled = _UNROLLED) -> list[Placed]:
    call = UnusualCall(
        name="step",
        key="step:first",
        function=1,
        why=("first", "traced"),
        took=first,
        traced=0.6 * first,
        stack=stack_at(12, "f"),
    )
    return [at(1, seen), at(1, call)]


def _run(first: float, steps: int, step: float = 0.01) -> list[float]:
    return [first, *([step] * steps)]


UnrolledLoop.FIRES = (
    Sketch(
        "a function that is called once, and another time",
        seconds=[10.0],
        facts=[*_facts(10.0), at(1, FunctionTotals(function=1, calls=1, calls_took=0.04))],
    ),
    Sketch(
        "100 iterations, 10 s before the first of 200 steps",
        seconds=_run(10.0, 200),
        facts=_facts(10.0),
    ),
    Sketch(
        "the same in the graph of a session",
        seconds=_run(10.0, 200),
        style="session",
        facts=[at(1, _UNROLLED.replace(session=True))],
    ),
)
UnrolledLoop.QUIET = (
    Sketch(
        "the same in a run of 5 000 steps: it pays", seconds=_run(10.0, 5000), facts=_facts(10.0)
    ),
    Sketch(
        "24 layers, each with weights of its own",
        seconds=_run(10.0, 200),
        facts=_facts(10.0, _UNROLLED.replace(repeats=24, own=280)),
    ),
    Sketch("a loop that costs next to nothing", seconds=_run(0.4, 200), facts=_facts(0.4)),
)
