"""Ops that are added to a session's graph in the training loop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.graphs import graph_growth
from unslow.analyse.graphs.graph_growth import graph_growths, memory_per_step
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.analyse.stats.growth import Kind, Law
from unslow.cause import Cause, Spot
from unslow.facts.schema import Stack
from unslow.facts.sessions import GraphGrew, RunSite
from unslow.fix.edit.script import Script
from unslow.fix.moves.ops_before_loop import ops_once
from unslow.model import Evidence, Finding, Fix, Forecast, Location, Loop, Refusal, Run, Safety
from unslow.syntax import Source
from unslow.syntax.graph_building import ops_built_in_loops

# Op types, and what changes when such ops are created once instead of in every iteration.
_NOTES = (
    (("SaveV2",), "A single Saver keeps its last five checkpoints; new ones never delete any."),
    (
        ("OneShotIterator", "MakeIterator", "IteratorV2"),
        "A single iterator continues; a new one starts again from the first batch.",
    ),
    (
        ("Random", "TruncatedNormal"),
        "A single op draws other random numbers than a new op in every iteration.",
    ),
)


@dataclass(frozen=True)
class _Detail:
    """What the fix needs to know."""

    stacks: tuple[Stack, ...]  # the user's frames at each line that adds ops
    running: frozenset[tuple[str, str]]  # file and function of the frames around each run
    note: str  # how the meaning changes, if it does


class GraphGrowth(Cause):
    """
    What happens
    In TF1 style, calls such as `tf.reduce_mean(loss)`, `tf.gradients(…)`, `variable.assign(…)` and
    `tf.train.Saver()` add ops to the graph. Inside the training loop they add new ops in every
    iteration, and ops are never removed.

    Why it is slow
    When the graph has changed, the session must take over the change and prepare each new fetch
    from the whole graph. Both costs grow with the number of ops, so every step is slower than the
    one before. Memory grows as well.

    The fix
    Create the ops once, before the loop, and only run them in the loop. Feed what changes through
    a placeholder. Call `graph.finalize()` before the loop: any later line that adds an op then
    raises an error.

    When we are wrong
    A graph that is built in stages, each trained for a long time, grows on purpose. We report only
    lines that added ops at least four times.
    """

    title = "the graph grows in the training loop"
    reads = (GraphGrew,)
    deeper_than = ("tiny-batches", "many-session-runs", "feed-dict")

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            for growth in graph_growths(run, loop):
                yield self._finding(run, loop, growth)

    def _finding(self, run: Run, loop: Loop, growth: graph_growth.GraphGrowth) -> Finding:
        law = growth.step_time_law(loop)
        rate = memory_per_step(run, loop)
        forecast = _forecast(loop, law, rate)
        around = [place for site in growth.last.runs for place in site.stack]
        added = "1 op is" if round(growth.per_step, 2) == 1 else f"{growth.per_step:.3g} ops are"
        return Finding(
            cause=self.id,
            title=f"{added} added to the graph in every step: {growth.nodes_before:,} → "
            f"{growth.last.nodes:,} in {loop.steps:,} steps",
            location=Location(*growth.lines.most_common(1)[0][0]),
            seconds=growth.seconds(run, loop),
            grows=forecast is not None,
            forecast=forecast,
            evidence=tuple(_evidence(loop, growth, law, rate)),
            advice=f"Create these ops once, before the loop at {loop.location}, and only run them "
            "in it. Call graph.finalize() before the loop: any line that still adds ops then "
            "raises an error.",
            detail=_Detail(
                stacks=tuple(growth.stacks[line] for line in growth.lines),
                running=frozenset((place.file, place.function) for place in around),
                note=_note(growth.types),
            ),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        detail = finding.detail_of(_Detail)
        return Fix(
            title="make the ops once",
            safety=Safety.REVIEW if detail.note else Safety.EXACT,
            files=ops_once(script, detail.stacks, detail.running).files,
            note=detail.note,
        )

    def spot(self, source: Source) -> Iterable[Spot]:
        for loop, node in ops_built_in_loops(source):
            yield source.spot(
                node,
                f"this adds ops to the graph in every iteration of the loop at line {loop.lineno}, "
                "which runs a session",
                "create the ops once, before the loop; feed what changes; call graph.finalize() to "
                "be sure",
            )


def _note(types: Iterable[str]) -> str:
    """How ops that are created once differ from ops that are recreated."""
    names = tuple(types)
    for kinds, note in _NOTES:
        if any(name.startswith(kinds) for name in names):
            return note
    return ""


def _forecast(loop: Loop, law: Law, rate: float) -> Forecast | None:
    """After ten times as many steps: the step time if it follows a law, the memory if it grows."""
    step = int(float(f"{loop.steps * 10:.1g}"))
    follows_nodes = law.kind is Kind.COUNTER and law.rate.low > 0
    seconds = law.forecast(step) if law.grows or follows_nodes else None
    expected = []
    if seconds is not None:
        expected.append(f"a step will take {seconds:.2g} s")
    if rate:
        expected.append(f"memory will have grown by {rate * step / 1e9:.2g} GB")
    if not expected:
        return None
    return Forecast(
        step, seconds, rate * step or None, f"at step {step:,} {', and '.join(expected)}"
    )


def _evidence(
    loop: Loop, growth: graph_growth.GraphGrowth, law: Law, rate: float
) -> Iterable[Evidence]:
    yield Evidence("nodes at first", growth.nodes_before)
    yield Evidence("nodes at last", growth.last.nodes)
    yield Evidence("ops per step", round(growth.per_step, 2))
    ops = growth.types.total()
    common = growth.types.most_common(5)
    yield Evidence("their types", ", ".join(f"{say.share(n / ops)} {kind}" for kind, n in common))
    for line, count in growth.lines.most_common(4):
        share = count / growth.lines.total()
        yield Evidence(f"ops made at {line}", round(share * growth.per_step, 2), "per step")
    if law.kind is Kind.COUNTER:
        yield Evidence("step time per 1,000 nodes", law.rate.value * 1000, "s")
    yield Evidence("step time at first", loop.trend.before, "s")
    yield Evidence("step time at last", loop.trend.after, "s")
    if rate:
        yield Evidence("memory per 1,000 steps", rate * 1000, "bytes")


def _look(step: int, new: int, nodes: int) -> Placed:
    stack = stack_at(12)
    grew = GraphGrew(graph=1, nodes=nodes, new=new, step=step, since=1, types=(("Mean", new),))
    site = RunSite(stack=stack, fresh=step, fresh_took=0.009 * step)
    return at(step, grew.replace(lines=((stack, new),), runs=(site,)))


GraphGrowth.FIRES = (
    Sketch(
        "two ops in every step, and a step that takes longer with each",
        seconds=[0.01 + 1e-4 * step for step in range(100)],
        facts=[_look(step, 2, 50 + 2 * step) for step in range(1, 101)],
        style="session",
    ),
)
GraphGrowth.QUIET = (
    Sketch(
        "an evaluation that runs twice",
        facts=[_look(50, 6, 56), _look(100, 6, 62)],
        style="session",
    ),
    Sketch(
        "lazily built in the first steps",
        facts=[_look(step, 4, 50 + 4 * step) for step in range(1, 6)],
        style="session",
    ),
)
