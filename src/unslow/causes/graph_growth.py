"""Ops that are added to a session's graph in the training loop."""

from __future__ import annotations

import ast
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.analyse.stats.growth import Kind, Law, fit_law
from unslow.cause import Cause, Spot
from unslow.facts.schema import Place, Stack
from unslow.facts.sessions import GraphGrew, RunSite
from unslow.model import (
    Evidence,
    Finding,
    Fix,
    Forecast,
    Location,
    Loop,
    Phase,
    Refusal,
    Run,
    Safety,
)
from unslow.syntax import FUNCTIONS, STATEMENT_LOOPS, own_nodes

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script
    from unslow.model import Floats
    from unslow.syntax import Loop as LoopNode
    from unslow.syntax import Source

_NEW_GRAPH = ("tf.Graph", "tf.reset_default_graph")

_FEWEST = 4  # growths at one line; fewer may be a graph built in stages, or a rare evaluation
_DISPATCH = 2e-4  # seconds that a run of a session takes in Python whatever it computes
# Ops whose meaning depends on being recreated.
_NOTES = (
    (
        ("SaveV2",),
        "One Saver deletes all but its last five checkpoints; a new one each time never deletes "
        "any.",
    ),
    (
        ("OneShotIterator", "MakeIterator", "IteratorV2"),
        "One iterator goes on; a new one each time starts from the first batch.",
    ),
    (("Random", "TruncatedNormal"), "One op draws other random numbers than a new one each time."),
)


@dataclass(frozen=True)
class _Detail:
    """What the fix needs to know."""

    stacks: tuple[Stack, ...]  # the user's frames at each line that adds ops
    running: frozenset[tuple[str, str]]  # file and function of the frames around each run
    note: str  # how the meaning changes, if it does


@dataclass(frozen=True)
class _Growth:
    """How one graph grew during one loop."""

    last: GraphGrew
    grown: Sequence[GraphGrew]  # inspections that found new ops
    lines: Counter[Place]  # ops by the user's innermost line, without lines that grew a few times
    types: Counter[str]
    stacks: Mapping[Place, Stack]

    @property
    def nodes_before(self) -> int:
        return self.grown[0].nodes - self.grown[0].new

    @property
    def per_step(self) -> float:
        """Ops per training step."""
        later = self.grown[1:]
        return sum(look.new for look in later) / max(1, sum(look.since for look in later))


class GraphGrowth(Cause):
    """
    What happens
    In TF1 style every call such as `tf.reduce_mean(loss)`, `tf.gradients(…)`,
    `variable.assign(…)` or `tf.train.Saver()` adds ops to the graph. Inside the training loop it
    adds them again in every iteration, and none is ever removed.

    Why it is slow
    A session that finds its graph changed takes the change over before it runs, and prepares each
    new fetch from the whole graph. Both take time in proportion to the number of ops, so every
    step is slower than the one before. The graph stays in memory.

    The fix
    Create ops once, in front of the loop, and only run them in it. What depends on the loop is fed
    through a placeholder. `graph.finalize()` in front of the loop makes the next such line raise
    an error.

    When we are wrong
    A graph that is built in stages, each trained for long, grows on purpose; we require at least
    four growths at one line.
    """

    title = "the graph grows in the training loop"
    reads = (GraphGrew,)
    deeper_than = ("tiny-batches", "many-session-runs", "feed-dict")

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            for growth in _growths(run, loop):
                yield self._finding(run, loop, growth)

    def _finding(self, run: Run, loop: Loop, growth: _Growth) -> Finding:
        law = _law(loop, growth)
        seconds = min(loop.total, _cost(growth) + _creation(run, loop, growth))
        rate = _bytes_per_step(run, loop)
        slower = law.grows or (law.kind is Kind.COUNTER and law.rate.low > 0)
        forecast = _forecast(loop, law if slower else None, rate)
        stacks = tuple(growth.stacks[line] for line in growth.lines)
        around = [place for site in growth.last.runs for place in site.stack]
        return Finding(
            cause=self.id,
            title=f"{_ops(growth.per_step)} added to the graph in every step: "
            f"{growth.nodes_before:,} → {growth.last.nodes:,} in {loop.steps:,} steps",
            location=Location(*growth.lines.most_common(1)[0][0]),
            seconds=seconds,
            grows=forecast is not None,
            forecast=forecast,
            evidence=tuple(_evidence(loop, growth, law, rate)),
            advice=f"Make these ops once, in front of the loop at {loop.location}, and only run "
            "them inside it. graph.finalize() in front of the loop then raises an error at any "
            "other line that adds ops.",
            detail=_Detail(
                stacks=stacks,
                running=frozenset((place.file, place.function) for place in around),
                note=_note(growth),
            ),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.moves.ops_before_loop import ops_once

        detail = finding.detail
        assert isinstance(detail, _Detail)
        edited = ops_once(script, detail.stacks, detail.running)
        return Fix(
            title="make the ops once, in front of the loop",
            safety=Safety.REVIEW if detail.note else Safety.EXACT,
            files={script.path: edited.text},
            note=detail.note,
        )

    def spot(self, source: Source) -> Iterable[Spot]:
        seen: set[ast.AST | None] = set()
        for loop in _session_loops(source):
            if _starts_graph(source, loop):
                continue
            for node in _ops_built(source, loop, set()):
                statement = source.statement(node)
                if statement not in seen:
                    seen.add(statement)
                    yield source.spot(
                        node,
                        f"the loop at line {loop.lineno} runs a session and comes by here: this "
                        "adds"
                        " ops to its graph in every turn, if the loop runs more than once",
                        "build the ops once, before the loop; feed what changes; call"
                        " graph.finalize() to be sure",
                    )


def _ops(number: float) -> str:
    return "1 op is" if round(number, 2) == 1 else f"{number:.3g} ops are"


def _note(growth: _Growth) -> str:
    """How the meaning of ops that are made once differs from that of ops recreated each time."""
    for kinds, note in _NOTES:
        if any(name.startswith(kinds) for name in growth.types):
            return note
    return ""


def _growths(run: Run, loop: Loop) -> Iterable[_Growth]:
    """Each graph that still grew in the second half of a loop: what is lazily built is built."""
    graphs: dict[int, list[GraphGrew]] = defaultdict(list)
    for look in run.facts(GraphGrew):
        last_word = look.process == loop.process and look.new == 0 and look.time >= loop.start
        if loop.holds(look) or last_word:
            graphs[look.graph].append(look)
    for looks in graphs.values():
        growth = _growth(looks)
        if growth is not None and growth.grown[-1].time > (loop.start + loop.stop) / 2:
            yield growth


def _growth(looks: Sequence[GraphGrew]) -> _Growth | None:
    times: Counter[Place] = Counter()
    ops: Counter[Place] = Counter()
    types: Counter[str] = Counter()
    stacks: dict[Place, Stack] = {}
    grown = [look for look in looks if look.new]
    for look in grown:
        types.update(dict(look.types))
        known = [(stack, count) for stack, count in look.lines if stack]
        for stack, count in known:
            ops[stack[0]] += count
            stacks.setdefault(stack[0], stack)
        times.update({stack[0] for stack, _ in known})
    lines = Counter({line: count for line, count in ops.items() if times[line] >= _FEWEST})
    if not lines:
        return None
    return _Growth(last=looks[-1], grown=grown, lines=lines, types=types, stacks=stacks)


def _nodes(loop: Loop, growth: _Growth) -> Floats:
    """Nodes of the graph at each row of a loop."""
    times = [look.time for look in growth.grown]
    return np.interp(loop.end, times, [float(look.nodes) for look in growth.grown])


def _law(loop: Loop, growth: _Growth) -> Law:
    return fit_law(loop.number[1:], loop.seconds[1:], _nodes(loop, growth)[1:])


def _cost(growth: _Growth) -> float:
    """What runs took beyond those of a graph that does not grow."""
    return sum(site.extended + _preparing(site) for site in growth.last.runs)


def _preparing(site: RunSite) -> float:
    """Seconds in which fetches that were never run before were prepared."""
    if site.fresh < _FEWEST:
        return 0.0
    clean = site.idle + _DISPATCH
    return max(0.0, site.fresh_took / site.fresh - clean) * (site.fresh - 1)


def _creation(run: Run, loop: Loop, growth: _Growth) -> float:
    """Seconds in which the lines made their ops, by stack samples."""
    mine = [sample for sample in run.samples if sample.process == loop.process]
    training = [sample for sample in mine if sample.training]
    whole = sum(sample.in_steps for sample in training)
    outside = [sample for sample in training if sample.phase is Phase.OTHER]
    library = [sample for sample in outside if sample.leaf != "python"]
    making = sum(sample.in_steps for sample in library if _same_line(sample.stack, growth))
    return run.trained * making / whole if whole else 0.0


def _same_line(stack: Sequence[Location], growth: _Growth) -> bool:
    return bool(stack) and any(
        (line.file, line.line) == (stack[0].file, stack[0].line) for line in growth.lines
    )


def _bytes_per_step(run: Run, loop: Loop) -> float:
    """How memory grows with the steps of a loop; 0 if it does not clearly grow."""
    ticks = run.processes[loop.process].ticks
    if "rss" not in ticks.columns:
        return 0.0
    inside = (ticks.time >= loop.start) & (ticks.time <= loop.stop)
    if inside.sum() < _FEWEST:
        return 0.0
    law = fit_law(
        np.interp(ticks.time[inside], loop.end, loop.number), ticks.columns["rss"][inside]
    )
    return max(0.0, law.rate.value) if law.rate.low > 0 else 0.0


def _forecast(loop: Loop, law: Law | None, rate: float) -> Forecast | None:
    """After ten times as many steps: the step time if it follows a law, the memory if it grows."""
    if law is None and not rate:
        return None
    digits = 10 ** math.floor(math.log10(loop.steps * 10))
    step = int(round(loop.steps * 10 / digits) * digits)
    seconds = law.forecast(step) if law is not None else None
    said = [f"a step will take {seconds:.2g} s"] if seconds is not None else []
    said += [f"memory will have grown by {rate * step / 1e9:.2g} GB"] if rate else []
    return Forecast(step, seconds, rate * step or None, f"at step {step:,} {', and '.join(said)}")


def _evidence(loop: Loop, growth: _Growth, law: Law, rate: float) -> Iterable[Evidence]:
    yield Evidence("nodes at first", growth.nodes_before)
    yield Evidence("nodes at last", growth.last.nodes)
    yield Evidence("ops per step", round(growth.per_step, 2))
    ops = sum(growth.types.values())
    kinds = ", ".join(
        f"{say.share(count / ops)} {kind}" for kind, count in growth.types.most_common(5)
    )
    yield Evidence("their types", kinds)
    for line, count in growth.lines.most_common(4):
        share = count / sum(growth.lines.values())
        yield Evidence(f"ops made at {line}", round(share * growth.per_step, 2), "per step")
    if law.kind is Kind.COUNTER:
        yield Evidence("step time per 1,000 nodes", law.rate.value * 1000, "s")
    yield Evidence("step time at first", loop.trend.before, "s")
    yield Evidence("step time at last", loop.trend.after, "s")
    if rate:
        yield Evidence("memory per 1,000 steps", rate * 1000, "bytes")


def _session_loops(source: Source) -> list[ast.For | ast.AsyncFor | ast.While]:
    """The loops that come by a run of a session, themselves or through the user's functions."""
    found: list[LoopNode] = []
    seen: set[ast.AST] = set()
    waiting = list(source.session_runs())
    while waiting:
        call = waiting.pop(0)
        found += source.loops(call)
        function = source.function(call)
        if function is not None and function not in seen:
            seen.add(function)
            waiting += source.callers(function)
    return [loop for loop in dict.fromkeys(found) if isinstance(loop, STATEMENT_LOOPS)]


def _ops_built(source: Source, body: ast.AST, seen: set[ast.AST]) -> Iterator[ast.AST]:
    """The ops that a loop or function adds to the graph, also through functions of the file."""
    for node in own_nodes(body):
        if isinstance(body, STATEMENT_LOOPS) and body not in source.loops(node):
            continue  # what is looped over, and the `else`
        if any(source.conditions(node, body)):
            continue  # an evaluation now and then may add its ops a few times in all
        if source.adds_ops(node) and source.trace_of(node) is None:
            yield node
        found = source.callee(node) if isinstance(node, ast.Call) else None
        if (
            found
            and found.source is source
            and isinstance(found.node, FUNCTIONS)
            and found.node not in seen
        ):
            seen.add(found.node)
            if source.compiler(found.node) is None and not _starts_graph(source, found.node):
                yield from _ops_built(source, found.node, seen)


def _starts_graph(source: Source, body: ast.AST) -> bool:
    return any(
        source.name(node.func) in _NEW_GRAPH
        for node in own_nodes(body)
        if isinstance(node, ast.Call)
    )


def _look(step: int, new: int, nodes: int) -> Placed:
    stack = (Place("train.py", 12, "<module>"),)
    return at(
        step,
        GraphGrew(
            graph=1,
            nodes=nodes,
            new=new,
            step=step,
            since=1,
            types=(("Mean", new),),
            lines=((stack, new),),
            runs=(RunSite(stack=stack, fresh=step, fresh_took=0.009 * step),),
        ),
    )


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
