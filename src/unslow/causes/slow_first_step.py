"""The first step takes far longer than the rest: what it is made of, and whether that matters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from unslow.analyse import wording as say
from unslow.analyse.graphs import first_step_faults
from unslow.analyse.graphs.first_step import REMEDIES, FirstStep, first_step
from unslow.analyse.graphs.first_step_faults import Kind, first_step_fault
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause
from unslow.facts.functions import CallProfile, Constants, Trace, UnusualCall
from unslow.facts.process import Imported
from unslow.facts.schema import Place
from unslow.model import Certainty, Evidence, Finding, Fix, Loop, Phase, Refusal, Run, Safety

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script

_LONG_TIMES = 10  # usual steps; a judgement: a shorter first step needs no explanation
_LONG_SECONDS = 0.3
_LARGE_SHARE = 0.1  # of the training; a judgement: below it a normal first step needs no advice
_ADVICE = {
    Kind.CONSTANTS: "Make the array a tensor once, outside of the function "
    "(`name = tf.constant(name)`, or a `tf.Variable`): then it is passed to the graph instead of "
    "being copied into it.",
    Kind.PYTHON: "Do that work before the function is called, and pass in its result.",
    Kind.XLA: "Leave `jit_compile` off in runs as short as this one.",
}
_PART_NAMES = {
    "trace": "tracing",
    "XLA compile": "XLA's compilation",
    "first run": "the first run",
}


class SlowFirstStep(Cause):
    """
    What happens
    The first step takes many times as long as the others. It starts the device, waits for the first
    batch, makes variables and optimizer slots, traces the functions, and has TensorFlow optimize,
    compile and load their graphs.

    Why it is slow
    All of that is done once. In most runs it is a small share of the time and nothing is wrong. It
    is a problem where it takes a large share of the run and is avoidable: constants of many
    megabytes baked into the graph, Python work inside the traced function, XLA in a run too short
    for it, loops unrolled into thousands of nodes.

    The fix
    The table shows the parts of the first step. Arrays that a `tf.function` uses should be tensors
    made before it (`table = tf.constant(table)`): then they are passed to the graph, not copied
    into it.

    When we are wrong
    Without a profiler window, everything beyond a usual step counts as preparation: a machine that
    was busy at that moment makes it look longer.
    """

    from_the_start = "the first step was over"
    title = "the first step takes far longer than the rest"
    reads = (*first_step_faults.READS, Imported)

    def detect(self, run: Run) -> Iterable[Finding]:
        seen: set[int] = set()
        for loop in run.loops:
            if loop.process in seen:  # a second loop of a process starts warm
                continue
            seen.add(loop.process)
            first = first_step(run, loop)
            if first is not None and first.seconds >= max(_LONG_TIMES * first.usual, _LONG_SECONDS):
                yield self._finding(run, loop, first)

    def _finding(self, run: Run, loop: Loop, first: FirstStep) -> Finding:
        fault = first_step_fault(run, loop, first)
        normal = Finding(
            cause=self.id,
            title=_normal_title(run, first),
            location=say.place(run, loop.update),
            seconds=0.0,
            fault=False,
            evidence=tuple(_evidence(run, loop, first)),
            certainty=Certainty.MEASURED if first.measured else Certainty.LIKELY,
            advice=REMEDIES.get(_largest(first), "") if _share(run, first) >= _LARGE_SHARE else "",
        )
        if fault is None:
            return normal
        return replace(
            normal,
            title=fault.title,
            location=say.place(run, fault.location or loop.update),
            seconds=fault.seconds,
            fault=True,
            advice=_ADVICE[fault.kind],
            in_first_step=fault.in_first_step,
            detail=fault.kind,
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.moves.constants_outside import constants_outside
        from unslow.fix.moves.without_xla import without_xla

        kind, where = finding.detail, finding.place
        if kind is Kind.XLA:
            found = without_xla(script, where.line)
            note = "XLA draws other random numbers from the same seed"
            return Fix.close("leave `jit_compile` off", found.script.files, found.draws, note)
        if kind is Kind.CONSTANTS:
            edited = constants_outside(script, where.line)
            title = "make the arrays tensors once, outside of the function"
            return Fix(title, Safety.EXACT, edited.files)
        return None


def _share(run: Run, first: FirstStep) -> float:
    return first.extra / max(run.trained, 1e-9)


def _largest(first: FirstStep) -> str:
    return max(first.parts, key=lambda part: first.parts[part])


def _normal_title(run: Run, first: FirstStep) -> str:
    share, largest = _share(run, first), _largest(first)
    kind = "normal" if share < _LARGE_SHARE else "normal, but a large share of so short a run"
    times = first.seconds / max(first.usual, 1e-9)
    return (
        f"the first step took {say.time(first.seconds)}, {times:,.0f} times a usual one: {kind}, "
        f"{100 * share:.2g}% of this training; most of it is {_PART_NAMES.get(largest, largest)}"
    )


def _evidence(run: Run, loop: Loop, first: FirstStep) -> Iterator[Evidence]:
    for name, seconds in first.parts.items():
        if seconds > 0:
            yield Evidence(f"first step: {name}", seconds, "s")
    yield Evidence("first step, together", first.seconds, "s")
    yield Evidence("a usual step", first.usual, "s")
    for imported in run.facts(Imported, loop.process)[:1]:
        label = "importing TensorFlow, before it and no part of it"
        yield Evidence(label, imported.time - run.process_of(loop).started, "s")


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
            stack=stack_at(12),
            **seen,
        ),
    )


def _again(step: int, n: int) -> Placed:
    """A call that XLA compiles again for a new shape, before any usual time is known."""
    call = UnusualCall(key="step:shapes", n=n, name="step", function=1, why=("shapes",), took=7.9)
    return at(step, call.replace(jit=True, stack=stack_at(12)))


def _trace(nodes: int, took: float) -> Placed:
    return at(1, Trace(name="step", place=_STEP, nodes=nodes, took=took, function=1))


def _baked(size: int) -> Placed:
    constants = Constants(name="step", place=_STEP, bytes=size, count=1, largest=size)
    stack = stack_at(4, "step")
    return at(1, constants.replace(shape=(1000, 1000), stack=stack))


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
        facts=[_trace(900, 1.0), _call(9.9, _XLA)],
    ),
    Sketch(
        "XLA compiles for 8 s, twice more for other shapes, and the steps take 2 s",
        seconds=[10.0, 0.01, 8.0, 0.01, 8.0, *([0.01] * 199)],
        style="function",
        phases=_phases(0.1, 203),
        facts=[_trace(900, 1.0), _call(9.9, _XLA), _again(3, 1), _again(5, 2)],
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
        facts=[_trace(900, 1.0), _call(9.9, _XLA)],
    ),
    Sketch(
        "a constant of 2 MB",
        seconds=[1.0, *([0.01] * 99)],
        style="function",
        phases=_phases(0.3, 99),
        facts=[_baked(2_000_000), _trace(300, 0.3), _call(1.0)],
    ),
)
