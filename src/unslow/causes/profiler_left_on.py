"""A profiler or tracer records the whole training."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.host import step_profile
from unslow.analyse.host.machine import during, process_of
from unslow.analyse.host.step_profile import SketchedWindow, StepProfile, windows
from unslow.analyse.run.tallies import line_totals
from unslow.analyse.sketches.pipelines import stack_at
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.analyse.stats.robust import spread
from unslow.cause import Cause, Spot
from unslow.facts.profiler import FullTrace, ProfilerSwitch, Timeline
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

_MANY = 100  # steps: shorter profiles are made on purpose
_MOST_OF = 0.5  # unless it covers most of a short training
_FEWEST = 40
_COMPARED = 10  # steps with and without it that its cost can be measured from
_GROWN = 32 << 20  # bytes
_TF = "tf.profiler"
_CHECKS = "tf.debugging.enable_check_numerics"
_DUMPS = "tf.debugging.experimental.enable_dump_debug_info"
# What begins it, and what ends it again.
_CALLS = {
    _TF: ("tf.profiler.experimental.start", "tf.profiler.experimental.stop"),
    _CHECKS: (
        "tf.debugging.enable_check_numerics",
        "tf.debugging.disable_check_numerics",
    ),
    _DUMPS: tuple(
        f"tf.debugging.experimental.{way}_dump_debug_info" for way in ("enable", "disable")
    ),
}
_DOES = {_CHECKS: "checked every op for NaN and infinity in"}
# `unslow check` reports the first without the second.
_PAIRS = (
    ("tf.profiler.experimental.start", "tf.profiler.experimental.stop"),
    (_DUMPS, "tf.debugging.experimental.disable_dump_debug_info"),
)


_FULL = "FULL_TRACE"
_FEWEST_TRACED = 4  # runs that were measured
_LITTLE = 5e-4  # seconds: a run takes a part of this around its graph without any trace
_LEAST_CHECKS = 0.03  # of a step


@dataclass(frozen=True)
class _Recorded:
    what: str
    on: int  # steps with it
    off: int
    each: float | None  # seconds that it adds to a step; None where it is unknown
    writing: float  # seconds that writing its results took, in the loop or after it
    place: Location | None


def _switch(step: int, on: bool, took: float = 0.0, what: str = _TF) -> Placed:
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

    TensorFlow's profiler or one of its debuggers, a session's full trace, or a profiler or tracer
    of Python is on for hundreds of steps.

    Why it is slow

    Each op, or each Python call, is recorded. TensorFlow keeps its records in memory until the
    profiler is stopped, and then writes them all at once. A step takes longer, memory climbs, and
    the end takes minutes. A debugger puts an op of its own behind each op of the graph, which
    reads its whole result once more.

    The fix

    Profile ten steps in the middle of the training: `tf.profiler.experimental.start` and, ten
    steps later, `stop`; `profile_batch=(10, 20)` in Keras's TensorBoard. Then remove it.

    When we are wrong

    The cost is the difference to steps without it. Where there are none, only the memory that it
    fills, the time to write, the kernels of a debugger, and what a traced run of a session takes
    beside its graph are measured.
    """

    title = "a profiler is left on"
    reads = (ProfilerSwitch, Timeline, FullTrace, *step_profile.READS)
    deeper_than = ("compute-bound",)

    def detect(self, run: Run) -> Iterable[Finding]:
        tools = dict.fromkeys(switch.what for switch in run.facts(ProfilerSwitch) if switch.on)
        for loop in run.loops:
            for what in tools:
                found = _recorded(run, loop, what)
                if found.on >= min(_MANY, max(_FEWEST, _MOST_OF * loop.steps)):
                    yield self._finding(run, loop, found)

    def _finding(self, run: Run, loop: Loop, found: _Recorded) -> Finding:
        seconds = min((found.each or 0.0) * found.on + found.writing, loop.total)
        rate = _growth(run, loop) if found.what == _TF else 0.0
        known = found.each is not None or found.writing > 0 or rate > 0
        cost = f", {say.time(found.each)} more in each" if found.each else ""
        return Finding(
            cause=self.id,
            location=found.place,
            seconds=seconds,
            grows=rate > 0,
            fault=known,
            title=f"{found.what} {_DOES.get(found.what, 'recorded')} {found.on:,} of "
            f"{loop.steps:,} steps{cost}",
            certainty=Certainty.MEASURED if found.each else Certainty.LIKELY,
            evidence=(
                Evidence("steps with it", found.on),
                Evidence("steps without it", found.off),
                *([Evidence("it adds to a step", found.each, "s")] if found.each else []),
                *([Evidence("writing its results", found.writing, "s")] if found.writing else []),
                *([Evidence("memory grows per step", rate, "bytes")] if rate else []),
            ),
            forecast=Forecast(step=10 * loop.steps, bytes=9 * rate * loop.steps, text="")
            if rate > 0
            else None,
            advice=_advice(found),
            detail=found,
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, detail = finding.location, finding.detail
        assert isinstance(detail, _Recorded)
        what = detail.what
        if where is None or what not in _CALLS:
            return None
        calls = [node for node in script.every(ast.Call) if script.name(node.func) in _CALLS[what]]
        lines = [script.recorded(node) for node in calls]
        if where.line not in lines or len(lines) < len(calls):
            return Refusal("the calls that start and stop it were not found", where)
        fixed = script
        for node, line in zip(calls, lines, strict=True):
            if not isinstance(script.parents[node], ast.Expr):
                return Refusal("the result of the call is used", Location(where.file, line))
            fixed = delete(fixed, line)
        note = (
            "A NaN no longer stops the training where it arises."
            if what == _CHECKS
            else "No profile is written any more; `unslow run` shows the ops of a few steps."
        )
        return Fix(f"remove {what}", Safety.REVIEW, {where.file: fixed.text}, note)

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
            facts=[
                _switch(0, True, what=_FULL),
                *_traced(inside=0.004),
            ],
        ),
        Sketch(
            "a debugger's kernels take a third of every step",
            [0.01] * 300,
            phases={Phase.RUN: 0.95},
            style="function",
            facts=[_switch(0, True, what=_CHECKS), _seen(0.003)],
        ),
    )
    QUIET = (
        Sketch(
            "checks that take a hundredth of the step",
            [0.01] * 300,
            phases={Phase.RUN: 0.95},
            style="function",
            facts=[_switch(0, True, what=_CHECKS), _seen(0.0001)],
        ),
        Sketch(
            "every run is traced in full, at no measurable cost",
            [0.01] * 50 + [0.01] * 250,
            facts=[
                _switch(51, True, what=_FULL),
                *_traced(inside=0.0088),
            ],
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
    for start, stop in _PAIRS:
        for call in source.calls(start):
            ended = any(source.name(node) == stop for node in source.every(ast.Attribute))
            if not ended and not any(source.conditions(call)):
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
        if first is not None and last is not None and last - first >= _MANY:
            yield source.spot(
                span,
                f"this profiles {last - first + 1:,.0f} batches",
                "profile_batch=(10, 20)",
            )


def _traced_in_full(source: Source) -> Iterator[Spot]:
    for run in source.session_runs():
        options = source.maker(argument(run, "options", 2))
        if options is None or source.name(options.func) != "tf.RunOptions":
            continue
        if source.every_step(run) is None:
            continue
        if source.name(argument(options, "trace_level")) == "tf.RunOptions.FULL_TRACE":
            yield source.spot(
                run,
                "every run of the loop is traced in full",
                "trace every thousandth: if step % 1000 == 0: ...",
            )


def _recorded(run: Run, loop: Loop, what: str) -> _Recorded:
    switches = [one for one in run.facts(ProfilerSwitch, loop.process) if one.what == what]
    on = np.zeros(len(loop.end), dtype=bool)
    for switch in switches:
        on[loop.end > switch.time] = switch.on  # a step counts by when its update came
    added = _added(loop.seconds[1:], on[1:])
    if added is None:
        added = _measured_inside(run, loop, what)
    starts = [one.stack[0] for one in switches if one.on and one.stack]
    place = say.place(run, starts[0]) if starts else None
    counts = int(loop.count[on].sum()), int(loop.count[~on].sum())
    return _Recorded(what, *counts, added, _writing(run, loop, what, switches), place)


def _writing(run: Run, loop: Loop, what: str, switches: Iterable[ProfilerSwitch]) -> float:
    """Seconds in which what was recorded is written."""
    stops = [one for one in switches if not one.on and one.time >= loop.start]
    writing = sum(one.took for one in stops)
    if what == _FULL:
        writing += sum(total.seconds for total in line_totals(run, loop, Timeline))
    return writing


def _measured_inside(run: Run, loop: Loop, what: str) -> float | None:
    """What recording adds to a step, where there are no steps without it to compare with."""
    if what == _FULL:
        return _beside_graph(run, loop)
    if what in (_CHECKS, _DUMPS):
        return _checking(run, loop)
    return None


def _beside_graph(run: Run, loop: Loop) -> float | None:
    """What a fully traced run takes beside its graph; None where it is little or unknown."""
    traced = [one for one in run.facts(FullTrace) if loop.holds(one) and one.inside > 0]
    if len(traced) < _FEWEST_TRACED:
        return None
    typical = median(one.took - one.inside for one in traced)
    return typical if typical > max(_LITTLE, 0.1 * loop.typical()) else None


def _checking(run: Run, loop: Loop) -> float | None:
    """What a debugger's own kernels take of a step; None where it is little or unknown."""
    for window in windows(run, loop)[-1:]:
        if window.checks > _LEAST_CHECKS * window.wall:
            return window.checks
    return None


def _advice(found: _Recorded) -> str:
    if found.what == _CHECKS:
        return (
            "Switch it on to find a NaN, and off again; `tf.debugging.check_numerics` checks one "
            "value."
        )
    if found.place is None:
        return "Run without it to see what it costs."
    return (
        "Profile ten steps in the middle of the training (in Keras `profile_batch=(10, 20)`), then "
        "remove it."
    )


def _added(seconds: np.ndarray, on: np.ndarray) -> float | None:
    """What it adds to a step; 0 where that is within the noise."""
    with_it, without = seconds[on], seconds[~on]
    if min(len(with_it), len(without)) < _COMPARED:
        return None
    more = float(np.median(with_it) - np.median(without))
    error = math.hypot(
        spread(with_it) / math.sqrt(len(with_it)), spread(without) / math.sqrt(len(without))
    )
    return more if more > 4 * error and more > 0.03 * float(np.median(without)) else 0.0


def _growth(run: Run, loop: Loop) -> float:
    """Bytes that the process gains per step, where it clearly does so to the end."""
    starts = [one.time for one in run.facts(ProfilerSwitch) if one.on and one.what == _TF]
    since = starts[0]
    times, rss = during(process_of(run, loop), loop, "rss")
    rss = rss[times >= since]
    if len(rss) < 8:
        return 0.0
    third = len(rss) // 3
    late = float(np.median(rss[-third:]) - np.median(rss[third:-third]))
    gained = float(rss[-1] - rss[third])
    steps = loop.steps + 1 - loop.step_at(max(since, loop.start))
    return gained / (steps * 2 / 3) if gained > _GROWN and late > gained / 4 else 0.0
