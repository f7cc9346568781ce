"""Ops that are added to a session's graph in the training loop."""

from __future__ import annotations

import ast
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.sketches.sketch import Sketch, fact
from unslow.analyse.stats.growth import Kind, Law, fit_law
from unslow.cause import Cause, Spot
from unslow.model import (
    Event,
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
    from unslow.syntax import Loop as LoopNode
    from unslow.syntax import Source

_NEW_GRAPH = ("tf.Graph", "tf.reset_default_graph")

_FEWEST = 4  # growths at one line below which it may be a graph that is built in stages, or a rare evaluation
_DISPATCH = 2e-4  # seconds that a run of a session takes in Python whatever it computes
# Ops whose meaning depends on being made anew.
_NOTES = (
    (
        ("SaveV2",),
        "One Saver deletes all but its last five checkpoints; a new one each time never deletes any.",
    ),
    (
        ("OneShotIterator", "MakeIterator", "IteratorV2"),
        "One iterator goes on; a new one each time starts from the first batch.",
    ),
    (("Random", "TruncatedNormal"), "One op draws other random numbers than a new one each time."),
)


@dataclass(frozen=True)
class _Growth:
    """How one graph grew during one loop."""

    looks: Sequence[Event]
    lines: Counter[
        Location
    ]  # ops by the user's innermost line, lines that grew only a few times left out
    types: Counter[str]
    first: int  # nodes before and after
    last: int
    per_step: float  # ops per training step
    stacks: Mapping[Location, Sequence[Location]]


class GraphGrowth(Cause):
    """
    What happens
    In TF1 style every call such as `tf.reduce_mean(loss)`, `tf.gradients(…)`, `variable.assign(…)` or
    `tf.train.Saver()` adds ops to the graph. Inside the training loop it adds them again in every iteration, and
    none is ever removed.

    Why it is slow
    A session that finds its graph changed takes the change over before it runs, and prepares each new fetch from the
    whole graph. Both take time in proportion to all the ops there are, so that every step is slower than the one
    before. The graph stays in memory.

    The fix
    Create ops once, in front of the loop, and only run them in it. What depends on the loop is fed through a
    placeholder. `graph.finalize()` in front of the loop makes the next such line raise an error.

    When we are wrong
    A graph that is built in stages, each trained for long, grows on purpose; we ask for at least four growths at one
    line.
    """

    title = "the graph grows in the training loop"
    needs = ("graphs",)
    deeper_than = ("tiny-batches", "many-session-runs", "feed-dict")

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            for growth in _growths(run, loop):
                yield self._finding(run, loop, growth)

    def _finding(self, run: Run, loop: Loop, growth: _Growth) -> Finding:
        where, _ = growth.lines.most_common(1)[0]
        law = _law(loop, growth)
        seconds = min(loop.total, _cost(growth) + _creation(run, loop, growth))
        rate = _bytes_per_step(run, loop)
        slower = law.grows or (law.kind is Kind.COUNTER and law.rate.low > 0)
        forecast = _forecast(loop, law if slower else None, rate)
        title = (
            f"{_ops(growth.per_step)} added to the graph in every step: "
            f"{growth.first:,} → {growth.last:,} in {loop.steps:,} steps"
        )
        return Finding(
            cause=self.id,
            title=title,
            location=where,
            seconds=seconds,
            grows=forecast is not None,
            forecast=forecast,
            evidence=tuple(_evidence(loop, growth, law, rate)),
            advice=f"Make these ops once, in front of the loop at {loop.location}, and only run them inside it. "
            "graph.finalize() in front of the loop then raises an error at any other line that adds ops.",
            facts={
                "stacks": [
                    [_frame(place) for place in growth.stacks[line]] for line in growth.lines
                ],
                "running": {
                    (place.file, place.function) for site in _sites(growth) for place in site
                },
                "note": next(
                    (
                        note
                        for kinds, note in _NOTES
                        if any(t.startswith(kinds) for t in growth.types)
                    ),
                    "",
                ),
            },
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.moves.ops_before_loop import ops_once

        edited = ops_once(script, finding.facts["stacks"], finding.facts["running"])
        note = str(finding.facts["note"])
        return Fix(
            title="make the ops once, in front of the loop",
            safety=Safety.REVIEW if note else Safety.EXACT,
            files={script.path: edited.text},
            note=note,
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
                        f"the loop at line {loop.lineno} runs a session and comes by here: this adds ops to its graph"
                        " in every turn, if the loop runs more than once",
                        "build the ops once, before the loop; feed what changes; call graph.finalize() to be sure",
                    )


def _ops(number: float) -> str:
    return "1 op is" if round(number, 2) == 1 else f"{number:.3g} ops are"


def _frame(place: Location) -> tuple[str, int, str]:
    return place.file, place.line, place.function


def _sites(growth: _Growth) -> Iterable[Sequence[Location]]:
    """The user's frames around each run of a session."""
    for site in growth.looks[-1].data["runs"]:
        yield [Location(*place) for place in site["stack"]]


def _growths(run: Run, loop: Loop) -> Iterable[_Growth]:
    """Each graph that kept growing in a loop."""
    graphs: dict[int, list[Event]] = defaultdict(list)
    for event in run.of("graph"):
        if event.process == loop.process and loop.start <= event.time <= loop.stop + 1e9 * (
            event.data["new"] == 0
        ):
            graphs[int(event.data["graph"])].append(event)
    for looks in graphs.values():
        growth = _growth(looks)
        if growth is not None and _lasts(growth, loop):
            yield growth


def _growth(looks: Sequence[Event]) -> _Growth | None:
    times: Counter[Location] = Counter()
    ops: Counter[Location] = Counter()
    types: Counter[str] = Counter()
    stacks: dict[Location, Sequence[Location]] = {}
    grown = [look for look in looks if look.data["new"]]
    for look in grown:
        for kind, count in look.data["types"]:
            types[kind] += count
        found: Counter[Location] = Counter()
        for stack, count in look.data["lines"]:
            if stack:
                places = [Location(*place) for place in stack]
                found[places[0]] += count
                stacks.setdefault(places[0], places)
        ops += found
        times.update(set(found))
    lines = Counter({line: count for line, count in ops.items() if times[line] >= _FEWEST})
    if not lines:
        return None
    new = sum(look.data["new"] for look in grown[1:])
    steps = sum(look.data["since"] for look in grown[1:])
    first, last = grown[0].data, looks[-1].data
    return _Growth(
        looks=looks,
        lines=lines,
        types=types,
        first=first["nodes"] - first["new"],
        last=last["nodes"],
        per_step=new / max(1, steps),
        stacks=stacks,
    )


def _lasts(growth: _Growth, loop: Loop) -> bool:
    """Whether it still grew in the second half of the loop: what is built lazily at first is built."""
    last = max(look.time for look in growth.looks if look.data["new"])
    return last > (loop.start + loop.stop) / 2


def _nodes(loop: Loop, growth: _Growth) -> Any:
    """Nodes of the graph at each row of a loop."""
    looks = [look for look in growth.looks if look.data["new"]]
    return np.interp(
        loop.end, [look.time for look in looks], [float(look.data["nodes"]) for look in looks]
    )


def _law(loop: Loop, growth: _Growth) -> Law:
    return fit_law(loop.number[1:], loop.seconds[1:], _nodes(loop, growth)[1:])


def _cost(growth: _Growth) -> float:
    """What runs took beyond what they would with a graph that stays: taking over ops, preparing fresh fetches."""
    seconds = 0.0
    for site in growth.looks[-1].data["runs"]:
        seconds += float(site["extended"])
        fresh = int(site["fresh"])
        if fresh >= _FEWEST:
            clean = float(site["idle"]) + _DISPATCH
            seconds += max(0.0, float(site["fresh_took"]) / fresh - clean) * (fresh - 1)
    return seconds


def _creation(run: Run, loop: Loop, growth: _Growth) -> float:
    """Seconds in which the lines made their ops, by stack samples."""
    samples = [
        sample for sample in run.samples if sample.process == loop.process and sample.training
    ]
    whole = sum(sample.in_steps for sample in samples)
    making = sum(
        sample.in_steps
        for sample in samples
        if sample.phase is Phase.OTHER
        and sample.leaf != "python"
        and _same_line(sample.stack, growth)
    )
    return run.trained * making / whole if whole else 0.0


def _same_line(stack: Sequence[Location], growth: _Growth) -> bool:
    return bool(stack) and any(
        (line.file, line.line) == (stack[0].file, stack[0].line) for line in growth.lines
    )


def _bytes_per_step(run: Run, loop: Loop) -> float:
    """How memory grows with the steps of a loop; nothing where it does not surely grow."""
    ticks = run.processes[loop.process].ticks
    inside = (
        (ticks.time >= loop.start) & (ticks.time <= loop.stop)
        if "rss" in ticks.columns
        else np.zeros(0, bool)
    )
    if inside.sum() < _FEWEST:
        return 0.0
    law = fit_law(
        np.interp(ticks.time[inside], loop.end, loop.number), ticks.columns["rss"][inside]
    )
    return max(0.0, law.rate.value) if law.rate.low > 0 else 0.0


def _forecast(loop: Loop, law: Law | None, rate: float) -> Forecast | None:
    """Ten times as many steps, in a round number: of time where the steps follow a law, of memory where it grows."""
    if law is None and not rate:
        return None
    digits = 10 ** math.floor(math.log10(loop.steps * 10))
    step = int(round(loop.steps * 10 / digits) * digits)
    seconds = law.forecast(step) if law is not None else None
    said = [f"a step will take {seconds:.2g} s"] if seconds is not None else []
    said += [f"memory will have grown by {rate * step / 1e9:.2g} GB"] if rate else []
    return Forecast(step, seconds, rate * step or None, f"at step {step:,} {', and '.join(said)}")


def _evidence(loop: Loop, growth: _Growth, law: Law, rate: float) -> Iterable[Evidence]:
    yield Evidence("nodes at first", growth.first)
    yield Evidence("nodes at last", growth.last)
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
    """The ops that a loop or function adds to the graph whenever it runs, also through functions of the file."""
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


def _look(at: int, new: int, nodes: int) -> Any:
    run = {
        "stack": [["train.py", 12, "<module>"]],
        "known": 0,
        "known_took": 0.0,
        "extended": 0.0,
        "fresh": at,
        "fresh_took": 0.009 * at,
        "idle": 0.0,
    }
    return fact(
        "graph",
        at,
        graph=1,
        nodes=nodes,
        new=new,
        step=at,
        since=1,
        types=[["Mean", new]],
        lines=[[[["train.py", 12, "<module>"]], new]],
        runs=[run],
    )


GraphGrowth.FIRES = (
    Sketch(
        "two ops in every step, and a step that takes longer with each",
        seconds=[0.01 + 1e-4 * step for step in range(100)],
        facts=[_look(at, 2, 50 + 2 * at) for at in range(1, 101)],
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
        facts=[_look(at, 4, 50 + 4 * at) for at in range(1, 6)],
        style="session",
    ),
)
