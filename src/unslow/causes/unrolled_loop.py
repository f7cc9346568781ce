"""A Python loop inside a compiled function became thousands of graph nodes."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from unslow.analyse import wording as say
from unslow.analyse.graphs.unusual_calls import Call, special_calls
from unslow.analyse.sketches.sketch import Fact, Sketch, fact
from unslow.cause import Cause, Spot
from unslow.model import (
    Certainty,
    Event,
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
_OWN = 0.3  # of the uses of variables that have one of their own: then the "loop" is a stack of layers, or an optimizer
_WORTH = 0.5  # seconds that the loop must have cost at the first call
# Measured on TensorFlow 2.21: a loop of the graph takes a microsecond longer per op of its body than the unrolled
# ops do, and never more than as much again.
_ROLLED = 1e-6


class UnrolledLoop(Cause):
    """
    What happens
    A Python loop (`for t in range(100)`) runs while a `tf.function` is traced, not while it trains. Each iteration
    adds its ops to the graph, so the graph holds the body a hundred times, and its gradients too.

    Why it is slow
    Tracing, optimising and loading a graph takes time for every node: seconds to minutes before the first step, and
    again after each new trace. The steps themselves are not slower: an unrolled loop is even faster per step.

    The fix
    `for t in tf.range(100)` makes one loop of the graph (with a `tf.TensorArray` where results are collected), and so
    do `tf.scan`, `tf.while_loop` and `keras.layers.RNN`. Or unroll only a part: ten iterations in a loop of ten.

    When we are wrong
    In a long run the faster steps of the unrolled loop may pay for the slow start. The numbers say from how many steps
    on; below that, roll it up.
    """

    title = "a Python loop became thousands of graph nodes"
    needs = ("traced", "calls")
    deeper_than = ("slow-first-step",)

    def detect(self, run: Run) -> Iterable[Finding]:
        calls = special_calls(run)
        by_place: dict[tuple[str, int], list[tuple[Event, Call]]] = defaultdict(list)
        for event in run.of("unrolled"):
            if "nodes" not in event.data or not _is_loop(event):
                continue
            if event.data.get("session"):
                if event.data.get("stack"):
                    yield from self._in_session(run, event)
                continue
            around = _call_around(event, calls)
            if around is not None:
                where = event.data["place"]
                by_place[str(where[0]), int(where[1])].append((event, around))
        for found in by_place.values():
            yield from self._in_function(run, found)

    def _in_session(self, run: Run, event: Event) -> Iterable[Finding]:
        """The graph was built before the first step, and made ready in it."""
        loop = next(
            (loop for loop in run.loops if loop.holds(event) and loop.style == "session"), None
        )
        if loop is not None and len(loop.seconds) > 1:
            extra = max(0.0, float(loop.seconds[0]) - loop.typical())
            yield from self._finding(run, event, loop, extra, loop.location)

    def _in_function(self, run: Run, found: Sequence[tuple[Event, Call]]) -> Iterable[Finding]:
        loop = _trained_by(run, found[0][1])
        if loop is not None:
            each = {call.time: call for _, call in found}.values()
            usual = min((call.usual for call in each if call.usual > 0), default=loop.typical())
            extra = sum(max(0.0, call.seconds - usual) * call.weight for call in each)
            yield from self._finding(
                run, found[-1][0], loop, extra, found[-1][1].caller or loop.location
            )

    def _finding(
        self, run: Run, event: Event, loop: Loop, extra: float, caller: Location
    ) -> Iterable[Finding]:
        data = event.data
        nodes, repeats, repeated = int(data["nodes"]), int(data["repeats"]), int(data["repeated"])
        # Rolled up, the body is there once, and once more for its gradients.
        once = extra * (repeated - 2 * repeated / repeats) / nodes
        if once < _WORTH:
            return
        slower = min(_ROLLED * repeated, loop.typical())
        saved = once - slower * loop.steps
        enough = round(once / slower)
        where, unrolls_itself = _place(run, event, caller)
        many = f"{repeats} times: {nodes:,} nodes, {say.time(extra)} before the first step"
        title = (
            f"a layer that is called here unrolls its loop {many}"
            if unrolls_itself
            else f"this Python loop is unrolled {many}"
        )
        if saved <= 0:
            title += f"; that pays from {enough:,} steps on, and this run has {loop.steps:,}"
        session = bool(data.get("session"))
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
            advice=_advice(enough, unrolls_itself, session),
            facts={
                "first_step": True,
                **({} if unrolls_itself or session else {"loop": where.line}),
            },
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        line = finding.facts.get("loop")
        if line is None:
            return None
        from unslow.fix.moves.graph_loop import range_to_graph

        return Fix(
            title="Make it a loop of the graph: tf.range for range",
            safety=Safety.CLOSE,
            files={script.path: range_to_graph(script, int(line)).text},
        )

    def spot(self, source: Source) -> Iterable[Spot]:
        for loop in source.every(ast.For):
            trace = source.trace_of(loop)
            turns = loop.iter
            if (
                trace is None
                or not isinstance(turns, ast.Call)
                or source.name(turns.func) != "range"
                or not turns.args
            ):
                continue
            bounds = [source.number_of(bound) for bound in turns.args]
            count = (
                len(range(*(int(bound) for bound in bounds if bound is not None)))
                if None not in bounds
                else 0
            )
            if count < _MANY or not any(source.adds_ops(node) for node in own_nodes(loop)):
                continue
            yield source.spot(
                loop,
                f"this loop is unrolled when {trace.name} is traced: its ops are put into the graph {count} times",
                f"for {ast.unparse(loop.target)} in tf.{ast.unparse(turns)}: one loop in the graph,"
                " if its tensors keep their shapes",
            )


def _advice(enough: int, unrolls_itself: bool, session: bool) -> str:
    how = (
        "Give the layer `unroll=False`"
        if unrolls_itself
        else "Loop over `tf.range(…)` instead of `range(…)`"
    )
    if session and not unrolls_itself:
        how = "Make it one loop of the graph (`tf.while_loop`, `tf.nn.dynamic_rnn`)"
    return f"{how} for runs of fewer than some {enough:,} steps; in longer ones the unrolled loop is faster."


def _is_loop(event: Event) -> bool:
    data = event.data
    layers = int(data.get("own") or 0) > _OWN * int(data.get("touches") or 0)
    enough = int(data["repeats"]) >= _REPEATS and int(data["repeated"]) >= _SHARE * int(
        data["nodes"]
    )
    return enough and not layers


def _call_around(event: Event, calls: Sequence[Call]) -> Call | None:
    """The call of a compiled function that a trace was part of: the next one to end that traced."""
    after = (call for call in calls if call.process == event.process and call.time >= event.time)
    return next((call for call in after if "traced" in call.why), None)


def _trained_by(run: Run, call: Call) -> Loop | None:
    """The loop that a call belongs to: the one under way, or the next to begin."""
    loops = [loop for loop in run.loops if loop.process == call.process and loop.stop >= call.time]
    return min(loops, key=lambda loop: loop.start, default=None)


def _place(run: Run, event: Event, caller: Location) -> tuple[Location, bool]:
    """The loop's own line; where a library loops, the user's line that calls it, or the one that had it traced."""
    stack, loop = event.data["stack"], event.data.get("loop")
    if not loop:
        return say.place(run, stack[0] if stack else caller), True
    file, _, function = stack[int(loop[0])]
    return say.place(run, [file, int(loop[1]), function]), False


def _facts(first: float, repeats: int = 100, nodes: int = 9000, own: int = 0) -> list[Fact]:
    place = ["train.py", 3, "step"]
    return [
        fact(
            "unrolled",
            1,
            name="step",
            place=place,
            took=0.6 * first,
            nodes=nodes,
            repeats=repeats,
            repeated=int(nodes * 0.9),
            each=40,
            touches=300,
            own=own,
            loop=[0, 6, 8],
            stack=[["train.py", 7, "step"]],
        ),
        fact(
            "call",
            1,
            key="step:first",
            n=1,
            name="step",
            function=1,
            why=["first", "traced"],
            took=first,
            traced=0.6 * first,
            usual=0.0,
            number=1,
            shapes=[[8, 100]],
            distinct=1,
            stack=[["train.py", 12, "f"]],
        ),
    ]


def _run(first: float, steps: int, step: float = 0.01) -> list[float]:
    return [first, *([step] * steps)]


UnrolledLoop.FIRES = (
    Sketch(
        "100 iterations, 10 s before the first of 200 steps",
        seconds=_run(10.0, 200),
        facts=_facts(10.0),
    ),
    Sketch(
        "the same in the graph of a session",
        seconds=_run(10.0, 200),
        style="session",
        facts=[fact("unrolled", 1, **{**_facts(10.0)[0].data, "session": True})],
    ),
)
UnrolledLoop.QUIET = (
    Sketch(
        "the same in a run of 5 000 steps: it pays", seconds=_run(10.0, 5000), facts=_facts(10.0)
    ),
    Sketch(
        "24 layers, each with weights of its own",
        seconds=_run(10.0, 200),
        facts=_facts(10.0, repeats=24, own=280),
    ),
    Sketch("a loop that costs next to nothing", seconds=_run(0.4, 200), facts=_facts(0.4)),
)
