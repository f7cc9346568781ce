"""The first step takes far longer than the rest: what it is made of, and whether that matters."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from unslow.analyse import wording as say
from unslow.analyse.graphs.first_step import REMEDIES, FirstStep, first_step, nodes_traced
from unslow.analyse.graphs.unusual_calls import first_place
from unslow.analyse.sketches.sketch import Fact, Sketch, fact
from unslow.cause import Cause
from unslow.facts.memory import Built
from unslow.facts.process import Imported
from unslow.model import Certainty, Event, Evidence, Finding, Location, Loop, Phase, Run

_TIMES = 10  # of a usual step: less is no riddle
_SECONDS = 0.3
_CONSTANTS = 8 << 20  # bytes in a graph from which on they are what costs
_PER_NODE = 2e-3  # seconds that tracing and preparing a node may take
_PYTHON_PER_NODE = (
    40e-3  # seconds per node from which on a trace did other work; 31 ms was seen on a busy machine
)
_WORKED = 1.5  # seconds of such a trace
_LONG = 2.0
# A step that XLA has not compiled was seen to take up to twice as long: only what is beyond that is promised.
_WITHOUT_XLA = 1.0


class SlowFirstStep(Cause):
    """
    What happens
    The first step takes many times as long as the others. It starts the device, waits for the first batch, makes
    variables and optimizer slots, traces the functions, and has TensorFlow optimise, compile and load their graphs.

    Why it is slow
    All of that is done once. In most runs it is a small part of the time and nothing is wrong. It is a fault where it
    takes a real part of the run and could be had cheaper: constants of many megabytes baked into the graph, Python work
    inside the traced function, XLA in a run too short for it, loops unrolled into thousands of nodes.

    The fix
    The table says which part it is. Arrays that a `tf.function` uses should be tensors made before it
    (`table = tf.constant(table)`): then they are handed to the graph, not copied into it.

    When we are wrong
    Where the profiler could not be asked, what is beyond a usual step is taken for preparing: a machine that was
    busy at that moment makes it look longer.
    """

    from_the_start = True
    title = "the first step takes far longer than the rest"
    needs = ("functions", "calls")
    reads = (Imported, Built)

    def detect(self, run: Run) -> Iterable[Finding]:
        seen: set[int] = set()
        for loop in run.loops:
            if loop.process in seen:  # a second loop of a process starts warm
                continue
            seen.add(loop.process)
            first = first_step(run, loop)
            if first is not None and first.seconds >= max(_TIMES * first.usual, _SECONDS):
                yield self._finding(run, loop, first)

    def _finding(self, run: Run, loop: Loop, first: FirstStep) -> Finding:
        for judge in (_constants, _python_work, _xla):
            fault = judge(run, loop, first)
            if fault is not None:
                title, where, seconds, advice = fault
                return Finding(
                    cause=self.id,
                    title=title,
                    location=where,
                    seconds=seconds,
                    evidence=_evidence(run, loop, first),
                    certainty=Certainty.MEASURED if first.measured else Certainty.LIKELY,
                    advice=advice,
                )
        share = first.extra / max(run.trained, 1e-9)
        largest = max(first.parts, key=lambda part: first.parts[part])
        kind = "normal" if share < 0.1 else "normal, but much of so short a run"
        return Finding(
            cause=self.id,
            title=f"the first step took {say.time(first.seconds)}, {first.seconds / max(first.usual, 1e-9):,.0f} times "
            f"a usual one: {kind}, {100 * share:.2g} % of this training; most of it is {_named(largest)}",
            location=say.place(run, loop.update),
            seconds=0.0,
            fault=False,
            evidence=_evidence(run, loop, first),
            certainty=Certainty.MEASURED if first.measured else Certainty.LIKELY,
            advice=REMEDIES.get(largest, "") if share >= 0.1 else "",
        )


_Fault = tuple[str, Location | None, float, str]


def _constants(run: Run, loop: Loop, first: FirstStep) -> _Fault | None:
    """Arrays baked into the graph: they are copied through every stage of tracing, optimising and loading it."""
    baked = [
        event for event in run.of("constants") if _in_first(event, loop) and "bytes" in event.data
    ]
    if not baked:
        return None
    worst = max(baked, key=lambda event: float(event.data["bytes"]))
    size = float(worst.data["bytes"])
    calls = [call for call in first.calls if call.time >= worst.time] or list(first.calls)
    spent = sum(call.seconds for call in calls) - first.usual
    saved = spent - _PER_NODE * nodes_traced(run, calls)
    if size < _CONSTANTS or saved < 0.5 * spent:
        return None
    where = first_place(worst.data.get("stack"))
    shape = "×".join(map(str, worst.data.get("shape") or ()))
    return (
        f"{say.size(size)} of constants are baked into the graph of {worst.data['name']}() (an array of {shape} the "
        f"largest): its first call takes {say.time(sum(call.seconds for call in calls))}",
        say.place(run, where) if where is not None else say.place(run, loop.update),
        saved,
        "Make the array a tensor once, outside of the function (`name = tf.constant(name)`, or a `tf.Variable`): then "
        "it is handed to the graph instead of being copied into it.",
    )


def _python_work(run: Run, loop: Loop, first: FirstStep) -> _Fault | None:
    """A trace that took far longer than its nodes can explain: Python code in the function did other work."""
    nodes = nodes_traced(run, first.calls)
    spent = first.parts["trace"]
    if not nodes or spent < _WORKED or spent / nodes < _PYTHON_PER_NODE:
        return None
    traces = [
        event for event in run.of("trace") if _in_first(event, loop) and event.data.get("place")
    ]
    longest = max(traces, key=lambda event: float(event.data.get("took") or 0.0), default=None)
    where = _definition(run, longest.data["place"]) if longest is not None else None
    return (
        f"tracing took {say.time(spent)} for {nodes:,} nodes: the Python code of the function did other work meanwhile",
        where or say.place(run, loop.update),
        spent - _PER_NODE * nodes,
        "Do that work before the function is called, and hand in its result.",
    )


def _definition(run: Run, place: Sequence[Any]) -> Location | None:
    """The `def` of a traced function of the user's; its code begins with its decorators."""
    file, line, name = str(place[0]), int(place[1]), str(place[2])
    try:
        tree = ast.parse(run.sources.get(file, ""))
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first <= line <= node.lineno:
                return say.place(run, [file, node.lineno, name])
    return None


def _xla(run: Run, loop: Loop, first: FirstStep) -> _Fault | None:
    """A compilation that the run is too short for, whatever XLA gains."""
    spent = first.parts["XLA compile"]
    rest = loop.total - first.seconds
    saved = spent - _WITHOUT_XLA * rest
    if spent < _LONG or saved < 0.5 * spent:
        return None
    profiled = [(call.inside.compile, call) for call in first.calls if call.inside is not None]
    compiled = max(profiled, key=lambda found: found[0])[1] if profiled else None
    where = compiled.caller if compiled is not None else None
    return (
        f"XLA compiled for {say.time(spent)} before the first step, and all {loop.steps - 1:,} others together took "
        f"{say.time(rest)}",
        say.place(run, where or loop.update),
        saved,
        "Leave `jit_compile` off in runs as short as this one.",
    )


def _in_first(event: Event, loop: Loop) -> bool:
    return event.process == loop.process and loop.start - 1.0 <= event.time <= float(loop.end[0])


def _evidence(run: Run, loop: Loop, first: FirstStep) -> tuple[Evidence, ...]:
    found = [
        Evidence(f"first step: {name}", value, "s")
        for name, value in first.parts.items()
        if value > 0
    ]
    found.append(Evidence("first step, together", first.seconds, "s"))
    found.append(Evidence("a usual step", first.usual, "s"))
    process = next((each for each in run.processes if each.index == loop.process), None)
    imported = next(
        (each.time for each in run.facts(Imported) if each.process == loop.process), None
    )
    if process is not None and imported is not None:
        found.append(
            Evidence(
                "importing TensorFlow, before it and no part of it", imported - process.started, "s"
            )
        )
    return tuple(found)


def _named(part: str) -> str:
    return {
        "trace": "tracing",
        "XLA compile": "XLA's compilation",
        "first run": "the first run",
    }.get(part, part)


def _call(took: float, **more: Any) -> Fact:
    data: dict[str, Any] = {
        "key": "step:first",
        "n": 1,
        "name": "step",
        "function": 1,
        "why": ["first", "traced"],
        "took": took,
        "traced": 0.3 * took,
        "usual": 0.0,
        "number": 1,
        "jit": False,
        "shapes": [[8]],
        "distinct": 1,
        "stack": [["train.py", 12, "<module>"]],
    }
    return fact("call", 1, **{**data, **more})


def _trace(nodes: int, took: float) -> Fact:
    return fact(
        "trace",
        1,
        name="step",
        place=["train.py", 3, "step"],
        nodes=nodes,
        took=took,
        depth=0,
        function=1,
    )


def _baked(size: float) -> Fact:
    return fact(
        "constants",
        1,
        name="step",
        place=["train.py", 3, "step"],
        bytes=size,
        count=1,
        largest=size,
        shape=[1000, 1000],
        stack=[["train.py", 4, "step"]],
        took=1.0,
    )


def _phases(trace: float, steps: int) -> dict[Phase, Any]:
    return {Phase.TRACE: [trace, *([0.0] * steps)], Phase.RUN: [0.95 - trace, *([0.95] * steps)]}


SlowFirstStep.FIRES = (
    Sketch(
        "40 MB of constants in the graph",
        seconds=[4.0, *([0.01] * 99)],
        style="function",
        phases=_phases(0.3, 99),
        facts=[_baked(40e6), _trace(60, 1.2), _call(4.0)],
    ),
    Sketch(
        "a trace that reads a file",
        seconds=[5.0, *([0.01] * 99)],
        style="function",
        phases=_phases(0.9, 99),
        facts=[_trace(60, 4.5), _call(5.0)],
    ),
    Sketch(
        "XLA compiles for 8 s, for 2 s of steps",
        seconds=[10.0, *([0.01] * 199)],
        style="function",
        phases=_phases(0.1, 199),
        facts=[
            _trace(900, 1.0),
            _call(9.9, jit=True, call=8.5, prepare=0.4, compile=8.0, data=0.0, run=0.1),
        ],
    ),
)
SlowFirstStep.QUIET = (
    Sketch(
        "a usual trace in a long run",
        seconds=[1.0, *([0.01] * 9999)],
        style="function",
        phases=_phases(0.6, 9999),
        facts=[_trace(300, 0.6), _call(1.0)],
    ),
    Sketch(
        "a usual trace in a short run",
        seconds=[1.0, *([0.01] * 30)],
        style="function",
        phases=_phases(0.6, 30),
        facts=[_trace(300, 0.6), _call(1.0)],
    ),
    Sketch(
        "XLA in a run that is long enough for it",
        seconds=[10.0, *([0.01] * 3000)],
        style="function",
        phases=_phases(0.1, 3000),
        facts=[
            _trace(900, 1.0),
            _call(9.9, jit=True, call=8.5, prepare=0.4, compile=8.0, data=0.0, run=0.1),
        ],
    ),
    Sketch(
        "a constant of 2 MB",
        seconds=[1.0, *([0.01] * 99)],
        style="function",
        phases=_phases(0.3, 99),
        facts=[_baked(2e6), _trace(300, 0.3), _call(1.0)],
    ),
)
