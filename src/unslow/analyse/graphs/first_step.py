"""The first step of a loop cut into its parts, which add up to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unslow.analyse.graphs.unusual_calls import Call, special_calls
from unslow.facts.memory import Built
from unslow.model import Event, Loop, Phase, Run

# Parts in the order in which a first step goes through them, with what could be done about each.
REMEDIES = {
    "device start": "It is paid once per process, whatever comes first.",
    "data start": "A shuffle buffer is filled before the first batch: a smaller buffer, or `prefetch` so that it "
    "fills while the step is traced.",
    "variable creation": "Build the model on fewer, larger variables; load large tables instead of initialising them.",
    "optimizer slots": "An optimizer with fewer slots (SGD, Adafactor) has less to make.",
    "trace": "Python loops over `tf.range` instead of `range`, shared layers, and no NumPy work inside the function.",
    "graph optimisation and loading": "It grows with the number of nodes and with the constants in the graph.",
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
    """The parts of a loop's first step; None where rows were merged or there is no second step to compare with."""
    if len(loop.seconds) < 3 or int(loop.count[0]) != 1:
        return None
    seconds, row = float(loop.seconds[0]), loop.phases[0]
    end = float(loop.end[0])
    calls = tuple(
        call
        for call in special_calls(run)
        if call.process == loop.process
        and "first" in call.why
        and loop.start < call.time <= end + 1e-3
    )
    built = _built(run, loop, end)
    steady = float(np.median(loop.phases[1:, Phase.RUN]))
    inside = [call.inside for call in calls if call.inside is not None]
    run_phase = float(row[Phase.RUN])
    if inside:
        compiling, waiting = sum(i.compile for i in inside), sum(i.data for i in inside)
        prepared = sum(i.prepare for i in inside)
    else:
        prepared = (
            max(0.0, run_phase - steady) if loop.style in ("function", "session", "keras") else 0.0
        )
        compiling = waiting = 0.0
        if any(call.jit for call in calls):
            prepared, compiling = 0.0, prepared
    scale = min(1.0, run_phase / max(prepared + compiling + waiting, 1e-12))
    prepared, compiling, waiting = prepared * scale, compiling * scale, waiting * scale
    traced = sum(took for (_, tracing), took in built.items() if tracing)
    parts = {
        "device start": _of(built, "device"),
        "data start": float(row[Phase.INPUT]) + waiting,
        "variable creation": _of(built, "variables"),
        "optimizer slots": _of(built, "slots"),
        "trace": max(0.0, float(row[Phase.TRACE]) - traced),
        "graph optimisation and loading": prepared,
        "XLA compile": compiling,
        "first run": max(0.0, run_phase - prepared - compiling - waiting),
    }
    known = sum(parts.values())
    if known > seconds:  # a part that began before the loop did
        parts = {name: value * seconds / known for name, value in parts.items()}
    parts[REST] = max(0.0, seconds - sum(parts.values()))
    return FirstStep(parts, seconds, loop.typical(), calls, bool(inside))


def _of(built: dict[tuple[str, bool], float], what: str) -> float:
    return sum(took for (name, _), took in built.items() if name == what)


def _built(run: Run, loop: Loop, end: float) -> dict[tuple[str, bool], float]:
    """Seconds in which things were made during the first step: what, and whether inside a trace."""
    found: dict[tuple[str, bool], float] = {}
    for built in run.facts(Built):
        if built.process == loop.process and loop.start <= built.time - built.ago <= end:
            key = (built.what, built.tracing)
            found[key] = found.get(key, 0.0) + built.took
    return found


def nodes_traced(run: Run, calls: Sequence[Call]) -> int:
    """Nodes of the graphs that were traced in some calls."""
    return sum(
        _nodes(event) for event in run.of("trace") if any(_within(event, call) for call in calls)
    )


def _nodes(event: Event) -> int:
    return int(event.data.get("nodes") or 0)


def _within(event: Event, call: Call) -> bool:
    return (
        event.process == call.process and call.time - call.seconds - 1.0 <= event.time <= call.time
    )
