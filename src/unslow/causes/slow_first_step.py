"""The first step takes far longer than the rest: what it is made of, and whether that matters."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unslow.analyse import wording as say
from unslow.analyse.graphs.first_step import (
    READS,
    REMEDIES,
    FirstStep,
    first_step,
    nodes_traced,
)
from unslow.analyse.graphs.unusual_calls import innermost
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause
from unslow.facts.functions import CallProfile, Constants, Trace, UnusualCall
from unslow.facts.process import Imported
from unslow.facts.schema import Fact, Place
from unslow.model import (
    Certainty,
    Evidence,
    Finding,
    Fix,
    Location,
    Loop,
    Phase,
    Refusal,
    Run,
    Safety,
)

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script

_TIMES = 10  # usual steps: a shorter first step needs no explanation
_SECONDS = 0.3
_CONSTANTS = 8 << 20  # bytes of constants that make a graph expensive
_PER_NODE = 2e-3  # seconds that tracing and preparing a node may take
# Seconds per node of a trace that did other work; 31 ms was seen on a busy machine.
_PYTHON_PER_NODE = 40e-3
_WORKED = 1.5  # seconds of such a trace
_LONG = 2.0
# A step that XLA has not compiled was seen to take up to twice as long: no more is promised.
_WITHOUT_XLA = 1.0


class SlowFirstStep(Cause):
    """
    What happens
    The first step takes many times as long as the others. It starts the device, waits for the first
    batch, makes variables and optimizer slots, traces the functions, and has TensorFlow optimise,
    compile and load their graphs.

    Why it is slow
    All of that is done once. In most runs it is a small part of the time and nothing is wrong. It
    is a fault where it takes a real part of the run and could be had cheaper: constants of many
    megabytes baked into the graph, Python work inside the traced function, XLA in a run too short
    for it, loops unrolled into thousands of nodes.

    The fix
    The table says which part it is. Arrays that a `tf.function` uses should be tensors made before
    it (`table = tf.constant(table)`): then they are handed to the graph, not copied into it.

    When we are wrong
    Where the profiler could not be asked, what is beyond a usual step is taken for preparing: a
    machine that was busy at that moment makes it look longer.
    """

    from_the_start = "the first step was over"
    title = "the first step takes far longer than the rest"
    reads = (*READS, Constants, Imported)

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
                return Finding(
                    cause=self.id,
                    title=fault.title,
                    location=say.place(run, fault.location or loop.update),
                    seconds=fault.seconds,
                    evidence=_evidence(run, loop, first),
                    certainty=Certainty.MEASURED if first.measured else Certainty.LIKELY,
                    advice=fault.advice,
                    in_first_step=True,
                    detail=_Detail(fault.kind),
                )
        share = first.extra / max(run.trained, 1e-9)
        largest = max(first.parts, key=lambda part: first.parts[part])
        kind = "normal" if share < 0.1 else "normal, but much of so short a run"
        return Finding(
            cause=self.id,
            title=f"the first step took {say.time(first.seconds)}, "
            f"{first.seconds / max(first.usual, 1e-9):,.0f} times "
            f"a usual one: {kind}, {100 * share:.2g}% of this training; most of it is "
            f"{_named(largest)}",
            location=say.place(run, loop.update),
            seconds=0.0,
            fault=False,
            evidence=_evidence(run, loop, first),
            certainty=Certainty.MEASURED if first.measured else Certainty.LIKELY,
            advice=REMEDIES.get(largest, "") if share >= 0.1 else "",
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.moves.constants_outside import constants_outside
        from unslow.fix.moves.without_xla import without_xla

        detail, where = finding.detail, finding.location
        if not isinstance(detail, _Detail) or where is None:
            return None
        if detail.kind == _XLA_KIND:
            found = without_xla(script, where.line)
            safety = Safety.REVIEW if found.draws else Safety.CLOSE
            note = "XLA draws other random numbers from the same seed" if found.draws else ""
            return Fix("leave `jit_compile` off", safety, found.script.files, note)
        if detail.kind == _CONSTANTS_KIND:
            edited = constants_outside(script, where.line)
            title = "make the arrays tensors once, outside of the function"
            return Fix(title, Safety.EXACT, edited.files)
        return None


@dataclass(frozen=True)
class _Detail:
    """What the fix needs to know."""

    kind: str


_CONSTANTS_KIND, _PYTHON_KIND, _XLA_KIND = "constants", "python", "xla"


@dataclass(frozen=True)
class _Fault:
    """A part of the first step that could be had cheaper."""

    kind: str
    title: str
    location: Location | None
    seconds: float
    advice: str


def _constants(run: Run, loop: Loop, first: FirstStep) -> _Fault | None:
    """Arrays baked into the graph: they are copied through tracing, optimizing and loading it."""
    baked = [constants for constants in run.facts(Constants) if _in_first(constants, loop)]
    if not baked:
        return None
    worst = max(baked, key=lambda constants: constants.bytes)
    after = [call for call in first.calls if call.fact.time >= worst.time]
    calls = after or list(first.calls)
    took = sum(call.fact.took for call in calls)
    spent = took - first.usual
    saved = spent - _PER_NODE * nodes_traced(run, calls)
    if worst.bytes < _CONSTANTS or saved < 0.5 * spent:
        return None
    shape = "×".join(map(str, worst.shape))
    return _Fault(
        _CONSTANTS_KIND,
        f"{say.size(worst.bytes)} of constants are baked into the graph of {worst.name}() (an "
        f"array of {shape} the largest): its first call takes {say.time(took)}",
        innermost(worst.stack),
        saved,
        "Make the array a tensor once, outside of the function (`name = tf.constant(name)`, or a "
        "`tf.Variable`): then it is passed to the graph instead of being copied into it.",
    )


def _python_work(run: Run, loop: Loop, first: FirstStep) -> _Fault | None:
    """A trace that took far longer than its nodes can explain: its Python code did other work."""
    nodes = nodes_traced(run, first.calls)
    spent = first.parts["trace"]
    if not nodes or spent < _WORKED or spent / nodes < _PYTHON_PER_NODE:
        return None
    traces = [trace for trace in run.facts(Trace) if _in_first(trace, loop)]
    longest = max(traces, key=lambda trace: trace.took, default=None)
    return _Fault(
        _PYTHON_KIND,
        f"tracing took {say.time(spent)} for {nodes:,} nodes: the Python code of the function did "
        "other work meanwhile",
        _definition(run, longest.place) if longest is not None else None,
        spent - _PER_NODE * nodes,
        "Do that work before the function is called, and pass in its result.",
    )


def _definition(run: Run, place: Place) -> Location | None:
    """The `def` of a traced function of the user's; its code begins with its decorators."""
    file, line, name = place
    try:
        tree = ast.parse(run.sources.get(file, ""))
    except (SyntaxError, ValueError):
        return None
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for node in functions:
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        if node.name == name and first <= line <= node.lineno:
            return Location(file, node.lineno, name)
    return None


def _xla(run: Run, loop: Loop, first: FirstStep) -> _Fault | None:
    """A compilation that the run is too short for, whatever XLA gains."""
    spent = first.parts["XLA compile"]
    rest = loop.total - first.seconds
    saved = spent - _WITHOUT_XLA * rest
    if spent < _LONG or saved < 0.5 * spent:
        return None
    profiled = [(call.fact.profile, call) for call in first.calls]
    compiled = [(profile.compile, call) for profile, call in profiled if profile is not None]
    longest = max(compiled, key=lambda found: found[0])[1] if compiled else None
    return _Fault(
        _XLA_KIND,
        f"XLA compiled for {say.time(spent)} before the first step, and all {loop.steps - 1:,} "
        f"others together took {say.time(rest)}",
        longest.caller if longest is not None else None,
        saved,
        "Leave `jit_compile` off in runs as short as this one.",
    )


def _in_first(fact: Fact, loop: Loop) -> bool:
    return fact.process == loop.process and loop.start - 1.0 <= fact.time <= float(loop.end[0])


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


_STEP = Place("train.py", 3, "step")


def _call(took: float, profile: CallProfile | None = None) -> Placed:
    seen = profile._asdict() if profile is not None else {}
    return at(
        1,
        UnusualCall(
            key="step:first",
            name="step",
            function=1,
            why=("first", "traced"),
            took=took,
            traced=0.3 * took,
            jit=profile is not None,
            stack=(Place("train.py", 12, "<module>"),),
            **seen,
        ),
    )


def _trace(nodes: int, took: float) -> Placed:
    return at(1, Trace(name="step", place=_STEP, nodes=nodes, took=took, function=1))


def _baked(size: int) -> Placed:
    stack = (Place("train.py", 4, "step"),)
    return at(
        1,
        Constants(
            name="step",
            place=_STEP,
            bytes=size,
            count=1,
            largest=size,
            shape=(1000, 1000),
            stack=stack,
        ),
    )


_XLA = CallProfile(call=8.5, prepare=0.4, compile=8.0, run=0.1)


def _phases(trace: float, steps: int) -> dict[Phase, list[float]]:
    return {Phase.TRACE: [trace, *([0.0] * steps)], Phase.RUN: [0.95 - trace, *([0.95] * steps)]}


SlowFirstStep.FIRES = (
    Sketch(
        "40 MB of constants in the graph",
        seconds=[4.0, *([0.01] * 99)],
        style="function",
        phases=_phases(0.3, 99),
        facts=[_baked(40_000_000), _trace(60, 1.2), _call(4.0)],
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
            _call(9.9, _XLA),
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
            _call(9.9, _XLA),
        ],
    ),
    Sketch(
        "a constant of 2 MB",
        seconds=[1.0, *([0.01] * 99)],
        style="function",
        phases=_phases(0.3, 99),
        facts=[_baked(2_000_000), _trace(300, 0.3), _call(1.0)],
    ),
)
