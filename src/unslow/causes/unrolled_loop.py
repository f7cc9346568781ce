"""A Python loop inside a compiled function became thousands of graph nodes."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unslow.analyse import wording as say
from unslow.analyse.graphs.traces import usual_calls
from unslow.analyse.graphs.unusual_calls import Call, unusual_calls
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause, Spot
from unslow.facts.functions import FirstRun, FunctionTotals, Unrolled, UnusualCall
from unslow.facts.schema import Place
from unslow.model import (
    Certainty,
    Evidence,
    Finding,
    Fix,
    Location,
    Loop,
    Refusal,
    Run,
    Safety,
)
from unslow.syntax import own_nodes

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script
    from unslow.syntax import Source

_MANY = 32  # turns; fewer make a graph that nobody notices

_REPEATS = 16  # iterations below which unrolling is no burden
_SHARE = 0.5  # of the graph that the loop must make up
_OWN = 0.3  # of the uses of variables: if more have one of their own, it is a stack of layers
_WORTH = 0.5  # seconds that the loop must have cost at the first call
# Measured on TensorFlow 2.21: a loop of the graph takes a microsecond longer per op of its body
# than the unrolled ops do, and never more than as much again.
_ROLLED = 1e-6
_PREPARED = 2.0  # times its trace: preparing a graph was seen to take no longer than tracing it


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
    Tracing, optimising and loading a graph takes time for every node: seconds to minutes before the
    first step, and again after each new trace. The steps themselves are not slower: an unrolled
    loop is even faster per step.

    The fix
    `for t in tf.range(100)` makes one loop of the graph (with a `tf.TensorArray` where results are
    collected), and so do `tf.scan`, `tf.while_loop` and `keras.layers.RNN`. Or unroll only a part:
    ten iterations in a loop of ten.

    When we are wrong
    In a long run the faster steps of the unrolled loop may pay for the slow start. The numbers say
    from how many steps on; below that, roll it up.
    """

    title = "a Python loop became thousands of graph nodes"
    reads = (Unrolled, UnusualCall, FirstRun, FunctionTotals)
    from_the_start = "what it costs is spent when a step is traced"
    deeper_than = ("slow-first-step",)

    def detect(self, run: Run) -> Iterable[Finding]:
        calls = unusual_calls(run)
        by_place: dict[Place, list[tuple[Unrolled, Call]]] = defaultdict(list)
        loops = [seen for seen in run.facts(Unrolled) if _is_loop(seen)]
        for seen in loops:
            if seen.session:
                yield from self._in_session(run, seen)
                continue
            around = _call_around(seen, calls)
            if around is not None:
                by_place[seen.place].append((seen, around))
        for found in by_place.values():
            yield from self._in_function(run, found)

    def _in_session(self, run: Run, seen: Unrolled) -> Iterable[Finding]:
        """The graph was built before the first step, and made ready in it."""
        loop = run.loop_of(seen)
        if loop is None or loop.style != "session" or not seen.stack:
            return
        if len(loop.seconds) > 1:
            extra = max(0.0, float(loop.seconds[0]) - loop.typical())
            yield from self._finding(run, seen, loop, extra, loop.location)

    def _in_function(self, run: Run, found: Sequence[tuple[Unrolled, Call]]) -> Iterable[Finding]:
        loop = _trained_by(run, found[0][1])
        if loop is not None:
            each = list({call.fact.time: call for _, call in found}.values())
            usual = _usual(run, loop, each)
            extra = sum(max(0.0, call.fact.took - usual) * call.weight for call in each)
            seen, call = found[-1]
            yield from self._finding(run, seen, loop, extra, call.caller or loop.location)

    def _finding(
        self, run: Run, seen: Unrolled, loop: Loop, extra: float, caller: Location
    ) -> Iterable[Finding]:
        nodes, repeats, repeated = seen.nodes, seen.repeats, seen.repeated
        # Rolled up, the body is there once, and once more for its gradients.
        once = extra * (repeated - 2 * repeated / repeats) / nodes
        if once < _WORTH:
            return
        slower = min(_ROLLED * repeated, loop.typical())
        saved = once - slower * loop.steps
        enough = round(once / slower)
        where, unrolls_itself = _place(run, seen, caller)
        first = "first step" if loop.trains else "first result"
        many = f"{repeats} times: {nodes:,} nodes, {say.time(extra)} before the {first}"
        title = (
            f"a layer that is called here unrolls its loop {many}"
            if unrolls_itself
            else f"this Python loop is unrolled {many}"
        )
        if saved <= 0:
            title += f"; that pays from {enough:,} steps on, and this run has {loop.steps:,}"
        in_place = not unrolls_itself and not seen.session
        yield Finding(
            cause=self.id,
            title=title,
            location=where,
            seconds=max(0.0, saved),
            fault=saved > 0,
            certainty=Certainty.LIKELY,
            evidence=(
                Evidence("nodes in the graph", nodes),
                Evidence("of them in the repeated body", repeated),
                Evidence("iterations", repeats),
                Evidence("seconds of the first calls, beyond a usual one", extra, "s"),
                Evidence(
                    "seconds that a step would take longer with a loop of the graph, about",
                    slower,
                    "s",
                ),
                Evidence("steps from which on unrolling pays", enough),
                Evidence("steps of this run", loop.steps),
            ),
            advice=_advice(enough, unrolls_itself, seen.session),
            in_first_step=True,
            detail=Detail(loop=where.line if in_place else None),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        detail = finding.detail
        assert isinstance(detail, Detail)
        if detail.loop is None:
            return None
        from unslow.fix.moves.graph_loop import range_to_graph

        return Fix(
            title="Make it a loop of the graph: tf.range for range",
            safety=Safety.CLOSE,
            files={script.path: range_to_graph(script, detail.loop).text},
        )

    def spot(self, source: Source) -> Iterable[Spot]:
        for loop in source.every(ast.For):
            trace, turns = source.trace_of(loop), loop.iter
            if trace is None or not isinstance(turns, ast.Call):
                continue
            count = _turns(source, turns)
            if count < _MANY or not any(source.adds_ops(node) for node in own_nodes(loop)):
                continue
            yield source.spot(
                loop,
                f"this loop is unrolled when {trace.name} is traced: its ops are put into the graph"
                f" {count} times",
                f"for {ast.unparse(loop.target)} in tf.{ast.unparse(turns)}: one loop in the graph,"
                " if its tensors keep their shapes",
            )


def _turns(source: Source, turns: ast.Call) -> int:
    """How often a loop over `range` runs; 0 if that is unknown."""
    bounds = [source.number_of(bound) for bound in turns.args]
    known = [int(bound) for bound in bounds if bound is not None]
    if source.name(turns.func) != "range" or not bounds or len(known) < len(bounds):
        return 0
    return len(range(*known))


def _advice(enough: int, unrolls_itself: bool, session: bool) -> str:
    how = (
        "Give the layer `unroll=False`"
        if unrolls_itself
        else "Loop over `tf.range(…)` instead of `range(…)`"
    )
    if session and not unrolls_itself:
        how = "Make it one loop of the graph (`tf.while_loop`, `tf.nn.dynamic_rnn`)"
    return (
        f"{how} for runs of fewer than some {enough:,} steps; in longer ones the unrolled loop is "
        "faster."
    )


def _is_loop(seen: Unrolled) -> bool:
    layers = seen.own > _OWN * seen.touches
    most = seen.repeated >= _SHARE * seen.nodes
    return seen.repeats >= _REPEATS and most and not layers


def _call_around(seen: Unrolled, calls: Sequence[Call]) -> Call | None:
    """The call of a compiled function that a trace was part of: the next to end that traced."""
    mine = [call for call in calls if call.fact.process == seen.process]
    after = (call for call in mine if call.fact.time >= seen.time)
    return next((call for call in after if "traced" in call.fact.why), None)


def _usual(run: Run, loop: Loop, calls: Sequence[Call]) -> float:
    """Seconds of a call that traces nothing; of a loop of one step, that step is none."""
    known = [call.fact.usual for call in calls if call.fact.usual > 0]
    others, seconds = usual_calls(run, calls[0].fact.function)
    if known or others:
        return min([*known, *([seconds / others] if others else [])])
    if loop.steps > 1:
        return loop.typical()
    return min(max(0.0, call.fact.took - _PREPARED * call.fact.traced) for call in calls)


def _trained_by(run: Run, call: Call) -> Loop | None:
    """The loop that a call belongs to: the one under way, or the next to begin."""
    loops = run.loops_of(call.fact.process)
    later = [loop for loop in loops if loop.stop >= call.fact.time]
    return min(later, key=lambda loop: loop.start, default=None)


def _place(run: Run, seen: Unrolled, caller: Location) -> tuple[Location, bool]:
    """The loop's own line; where a library loops, the user's line that calls or traces it."""
    if seen.loop is None:
        return say.place(run, seen.stack[0] if seen.stack else caller), True
    depth, first, _ = seen.loop
    return say.place(run, seen.stack[depth]._replace(line=first)), False


_UNROLLED = Unrolled(
    name="step",
    place=Place("train.py", 3, "step"),
    nodes=9000,
    repeats=100,
    repeated=8100,
    each=40,
    touches=300,
    loop=(0, 6, 8),
    stack=(Place("train.py", 7, "step"),),
)


def _facts(first: float, seen: Unrolled = _UNROLLED) -> list[Placed]:
    call = UnusualCall(
        name="step",
        key="step:first",
        function=1,
        why=("first", "traced"),
        took=first,
        traced=0.6 * first,
        stack=(Place("train.py", 12, "f"),),
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
