"""A profiler or tracer records the whole training."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from unslow.analyse import wording as say
from unslow.analyse.host import recording_cost
from unslow.analyse.host.recording_cost import (
    DEBUG_DUMPS,
    FULL_TRACE,
    NUMERIC_CHECKS,
    TENSORFLOW_PROFILER,
    Recording,
    memory_recorded,
    recording,
)
from unslow.analyse.host.step_profile import SketchedWindow, StepProfile
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause, Spot
from unslow.facts.profiler import FullTrace, ProfilerSwitch
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import delete
from unslow.model import (
    Certainty,
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
from unslow.syntax import argument

if TYPE_CHECKING:
    from unslow.syntax import Source

_MANY_STEPS = 100  # a judgement: shorter profiles are made on purpose
_MOST_STEPS = 0.5  # of a short training
_FEWEST_STEPS = 40
_SWITCHES = {
    TENSORFLOW_PROFILER: ("tf.profiler.experimental.start", "tf.profiler.experimental.stop"),
    NUMERIC_CHECKS: (NUMERIC_CHECKS, "tf.debugging.disable_check_numerics"),
    DEBUG_DUMPS: (DEBUG_DUMPS, "tf.debugging.experimental.disable_dump_debug_info"),
}
_MUST_STOP = (TENSORFLOW_PROFILER, DEBUG_DUMPS)  # `unslow check` reports a start without a stop


def _switch(step: int, on: bool, took: float = 0.0, what: str = TENSORFLOW_PROFILER) -> Placed:
    return at(step, ProfilerSwitch(what=what, on=on, step=step, took=took, stack=stack_at(8)))


def _seen(checks: float) -> Placed:
    """Ten steps with `checks` seconds each in kernels of a debugger."""
    profile = StepProfile(kernels=0.09, checks=10 * checks)
    return at(200, SketchedWindow(steps=10, step=200, wall=0.1, profile=profile))


def _traced(inside: float) -> list[Placed]:
    """Runs of 9 ms that were traced in full."""
    return [at(step, FullTrace(took=0.009, inside=inside)) for step in (64, 128, 192, 256)]


class ProfilerLeftOn(Cause):
    """
    What happens

    TensorFlow's profiler or one of its debuggers, a session's full trace, or a Python profiler or
    tracer is on for hundreds of steps.

    Why it is slow

    Each op, or each Python call, is recorded. TensorFlow keeps its records in memory until the
    profiler is stopped, and then writes them all at once: steps take longer, memory climbs, and the
    end takes minutes. A debugger adds an op behind each op of the graph, which reads its whole
    result once more.

    The fix

    Profile ten steps after the warm-up: `tf.profiler.experimental.start` and, ten steps later,
    `stop`; `profile_batch=(10, 20)` in Keras's TensorBoard. Then remove it.

    When we are wrong

    The cost is the difference to steps without it. Where there are none, only its memory, the time
    to write, the kernels of a debugger, and what a traced session run takes beside its graph are
    measured.
    """

    title = "a profiler is left on"
    reads = recording_cost.READS
    deeper_than = ("compute-bound",)

    def detect(self, run: Run) -> Iterable[Finding]:
        tools = dict.fromkeys(switch.what for switch in run.facts(ProfilerSwitch) if switch.on)
        for loop in run.loops:
            most = max(_FEWEST_STEPS, _MOST_STEPS * loop.steps)
            for tool in tools:
                found = recording(run, loop, tool)
                if found.on >= min(_MANY_STEPS, most):
                    yield self._finding(run, loop, found)

    def _finding(self, run: Run, loop: Loop, found: Recording) -> Finding:
        each, writing = found.each or 0.0, found.writing
        growth = memory_recorded(run, loop) if found.tool == TENSORFLOW_PROFILER else 0.0
        does = "recorded"
        if found.tool == NUMERIC_CHECKS:
            does = "checked every op for NaN and infinity in"
        cost = f", {say.time(each)} more in each" if each else ""
        forecast = Forecast(step=10 * loop.steps, bytes=9 * growth * loop.steps)
        costs = (
            Evidence("it adds to a step", each, "s"),
            Evidence("writing its results", writing, "s"),
            Evidence("memory grows per step", growth, "bytes"),
        )
        return Finding(
            cause=self.id,
            location=found.place,
            seconds=min(each * found.on + writing, loop.total),
            grows=growth > 0,
            fault=found.each is not None or writing + growth > 0,
            title=f"{found.tool} {does} {found.on:,} of {loop.steps:,} steps{cost}",
            certainty=Certainty.MEASURED if each else Certainty.LIKELY,
            evidence=(
                Evidence("steps with it", found.on),
                Evidence("steps without it", found.off),
                *(row for row in costs if row.value),
            ),
            forecast=forecast if growth else None,
            advice=_advice(found),
            detail=found,
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, tool = finding.place, finding.detail_of(Recording).tool
        if tool not in _SWITCHES:
            return None
        switches = _SWITCHES[tool]
        calls = [node for node in script.every(ast.Call) if script.name(node.func) in switches]
        lines = [script.recorded(node) for node in calls]
        if where.line not in lines or len(lines) < len(calls):
            return Refusal("the calls that start and stop it were not found", where)
        fixed = script
        for node, line in zip(calls, lines, strict=True):
            if not isinstance(script.parents[node], ast.Expr):
                return Refusal("the result of the call is used", Location(where.file, line))
            fixed = delete(fixed, line)
        note = "No profile is written any more; `unslow run` shows the ops of a few steps."
        if tool == NUMERIC_CHECKS:
            note = "A NaN no longer stops the training where it arises."
        return Fix(f"remove {tool}", Safety.REVIEW, {where.file: fixed.text}, note)

    FIRES = (
        Sketch(
            "started after a warm-up and never stopped",
            [0.01] * 50 + [0.014] * 250,
            facts=[_switch(51, True)],
        ),
        Sketch(
            "on all the time, and its results take long to write",
            [0.01] * 300,
            {Phase.LOG: [0.0] * 299 + [1.0]},
            [_switch(0, True), _switch(300, False, 2.0)],
        ),
        Sketch(
            "every run of a session is traced in full, and takes as long again beside its graph",
            [0.01] * 300,
            facts=[_switch(0, True, what=FULL_TRACE), *_traced(inside=0.004)],
        ),
        Sketch(
            "a debugger's kernels take a third of every step",
            [0.01] * 300,
            phases={Phase.RUN: 0.95},
            style="function",
            facts=[_switch(0, True, what=NUMERIC_CHECKS), _seen(0.003)],
        ),
    )
    QUIET = (
        Sketch(
            "checks that take a hundredth of the step",
            [0.01] * 300,
            phases={Phase.RUN: 0.95},
            style="function",
            facts=[_switch(0, True, what=NUMERIC_CHECKS), _seen(0.0001)],
        ),
        Sketch(
            "every run is traced in full, at no measurable cost",
            [0.01] * 50 + [0.01] * 250,
            facts=[_switch(51, True, what=FULL_TRACE), *_traced(inside=0.0088)],
        ),
        Sketch(
            "a profile of ten steps",
            [0.01] * 300,
            facts=[_switch(100, True), _switch(110, False, 0.01)],
        ),
        Sketch("a profiler that costs nothing", [0.01] * 300, facts=[_switch(51, True)]),
    )

    def spot(self, source: Source) -> Iterable[Spot]:
        yield from _never_stopped(source)
        yield from _profiled_batches(source)
        yield from _traced_in_full(source)


def _never_stopped(source: Source) -> Iterator[Spot]:
    named = {source.name(node) for node in source.every(ast.Attribute)}
    for start, stop in map(_SWITCHES.__getitem__, _MUST_STOP):
        for call in source.calls(start) if stop not in named else ():
            if not any(source.conditions(call)):
                yield source.spot(
                    call,
                    f"this records until {stop} is called, and nothing in this file does so",
                    "record ten steps in the middle of the training, then stop; or remove it",
                )


def _profiled_batches(source: Source) -> Iterator[Spot]:
    """TensorBoard callbacks that profile many batches."""
    for made in source.calls("keras.callbacks.TensorBoard"):
        span = argument(made, "profile_batch")
        if not isinstance(span, ast.Tuple | ast.List) or len(span.elts) != 2:
            continue
        first, last = map(source.number_of, span.elts)
        if first is not None and last is not None and last - first >= _MANY_STEPS:
            yield source.spot(
                span,
                f"this profiles {last - first + 1:,.0f} batches",
                "profile_batch=(10, 20)",
            )


def _traced_in_full(source: Source) -> Iterator[Spot]:
    for run in source.session_runs():
        options = source.maker(argument(run, "options", 2))
        if options is None or source.every_step(run) is None:
            continue
        level = source.name(argument(options, "trace_level"))
        if level == "tf.RunOptions.FULL_TRACE" and source.name(options.func) == "tf.RunOptions":
            yield source.spot(
                run,
                "every run of the loop is traced in full",
                "trace every thousandth: if step % 1000 == 0: ...",
            )


def _advice(found: Recording) -> str:
    if found.tool == NUMERIC_CHECKS:
        return (
            "Enable it to find a NaN, then remove it; tf.debugging.check_numerics checks a value."
        )
    if found.place is None:
        return "Run without it to see what it costs."
    return "Profile ten steps (in Keras `profile_batch=(10, 20)`), then remove it."
