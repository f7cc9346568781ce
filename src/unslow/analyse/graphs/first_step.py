"""The first step of a loop cut into its parts, which add up to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unslow.analyse.graphs.unusual_calls import Call, profiles, unusual_calls
from unslow.facts.functions import Trace, UnusualCall
from unslow.facts.memory import Built
from unslow.model import Loop, Phase, Run

READS = (UnusualCall, Trace, Built)  # the facts that this module reads

# Parts in the order in which a first step goes through them, with what could be done about each.
REMEDIES = {
    "device start": "It is paid once per process, whatever runs first.",
    "data start": (
        "A shuffle buffer is filled before the first batch: make it smaller, or add `prefetch` "
        "so that it fills while the step is traced."
    ),
    "variable creation": (
        "Build the model on fewer, larger variables; load large tables instead of initializing "
        "them."
    ),
    "optimizer slots": "An optimizer with fewer slots (SGD, Adafactor) has less to create.",
    "trace": (
        "Trace less: loop over `tf.range` instead of `range`, share layers, and keep NumPy work "
        "out of the function."
    ),
    "graph optimisation and loading": (
        "It grows with the number of nodes and with the constants in the graph."
    ),
    "XLA compile": "Leave `jit_compile` off in short runs, or compile a smaller part of the step.",
    "first run": "Kernels prepare themselves for their shapes once.",
}
REST = "everything else in Python"


@dataclass(frozen=True)
class FirstStep:
    """Seconds per part; `usual` is what a later step takes."""

    parts: dict[str, float]
    seconds: float
    usual: float
    calls: tuple[Call, ...]  # first calls of compiled functions in it
    measured: bool  # preparing and compiling were seen in a profiler window, not inferred

    @property
    def extra(self) -> float:
        return self.seconds - self.usual


def first_step(run: Run, loop: Loop) -> FirstStep | None:
    """The parts of a loop's first step; None where rows were merged or no second step follows."""
    if len(loop.seconds) < 3 or int(loop.count[0]) != 1:
        return None
    seconds, row = float(loop.seconds[0]), loop.phases[0]
    end = float(loop.end[0])
    calls = _first_calls(run, loop, end)
    built = _built(run, loop, end)
    run_phase = float(row[Phase.RUN])
    prepared, compiling, waiting = _prepared(loop, calls, run_phase)
    traced = sum(one.took for one in built if one.tracing)
    made: dict[str, float] = defaultdict(float)
    for one in built:
        made[one.what] += one.took
    parts = {
        "device start": made["device"],
        "data start": float(row[Phase.INPUT]) + waiting,
        "variable creation": made["variables"],
        "optimizer slots": made["slots"],
        "trace": max(0.0, float(row[Phase.TRACE]) - traced),
        "graph optimisation and loading": prepared,
        "XLA compile": compiling,
        "first run": max(0.0, run_phase - prepared - compiling - waiting),
    }
    known = sum(parts.values())
    if known > seconds:  # a part that began before the loop did
        parts = {name: value * seconds / known for name, value in parts.items()}
    parts[REST] = max(0.0, seconds - sum(parts.values()))
    return FirstStep(parts, seconds, loop.typical(), calls, bool(profiles(calls)))


def _first_calls(run: Run, loop: Loop, end: float) -> tuple[Call, ...]:
    """First calls of functions in the first step."""
    calls = [call for call in unusual_calls(run) if call.fact.process == loop.process]
    in_step = [call for call in calls if loop.start < call.fact.time <= end + 1e-3]
    return tuple(call for call in in_step if call.was("first"))


def _prepared(loop: Loop, calls: Sequence[Call], run_phase: float) -> tuple[float, float, float]:
    """Seconds of preparing graphs, of compiling, and of waiting for data in the first step."""
    seen = profiles(calls)
    extra = max(0.0, run_phase - float(np.median(loop.phases[1:, Phase.RUN])))
    parts = (0.0, 0.0, 0.0)
    if seen:
        each = [(profile.prepare, profile.compile, profile.data) for profile in seen]
        parts = tuple(np.sum(each, axis=0).tolist())
    elif loop.style in ("function", "session", "keras"):
        compiles = any(call.fact.jit for call in calls)
        parts = (0.0, extra, 0.0) if compiles else (extra, 0.0, 0.0)
    scale = min(1.0, run_phase / max(sum(parts), 1e-12))
    return parts[0] * scale, parts[1] * scale, parts[2] * scale


def _built(run: Run, loop: Loop, end: float) -> list[Built]:
    """What was made during the first step."""
    made = run.facts(Built, loop.process)
    return [built for built in made if loop.start <= built.time - built.ago <= end]


def nodes_traced(run: Run, calls: Sequence[Call]) -> int:
    """Nodes of the graphs that were traced in some calls."""
    found = run.facts(Trace)
    return sum(trace.nodes for trace in found if any(_within(trace, call.fact) for call in calls))


def _within(trace: Trace, call: UnusualCall) -> bool:
    begin = call.time - call.took - 1.0
    return trace.process == call.process and begin <= trace.time <= call.time
