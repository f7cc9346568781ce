"""A profiler or tracer records the whole training."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.host.machine import during, process_of
from unslow.analyse.host.step_profile import windows
from unslow.analyse.run.tallies import totals
from unslow.analyse.sketches.sketch import Fact, Sketch, at, fact
from unslow.analyse.stats.robust import spread
from unslow.cause import Cause, Spot
from unslow.facts.sessions import FullTrace
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

_MANY = 100  # a profile of fewer steps is a look, not a habit
_MOST_OF = 0.5  # unless it holds most of a short training
_FEWEST = 40
_COMPARED = 10  # steps without the profiler that its cost can be told from
_GROWN = 32 << 20
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
_DOES = {_CHECKS: "looked for NaN and infinity behind every op of"}
# `unslow check` looks for the first without the second.
_PAIRS = (
    ("tf.profiler.experimental.start", "tf.profiler.experimental.stop"),
    (_DUMPS, "tf.debugging.experimental.disable_dump_debug_info"),
)


_FULL = "FULL_TRACE"
_POWERS = (64, 128, 192, 256)
_SEEN = 4  # runs that were weighed
_LITTLE = 5e-4  # seconds: a run takes a part of this around its graph without any trace


@dataclass(frozen=True)
class _Recorded:
    what: str
    on: int  # steps with it
    off: int
    each: float | None  # seconds that it adds to a step; None where no steps are without it
    writing: float  # seconds that its results took to be written, in the loop or after it
    place: Location | None


def _switch(at: int, on: bool, took: float = 0.0, what: str = _TF) -> Fact:
    return fact(
        "profiler",
        at,
        what=what,
        on=on,
        step=at,
        took=took,
        stack=[["train.py", 8, "f"]],
        key=what,
        n=1,
    )


def _seen(checks: float) -> Fact:
    """Ten steps of which the profiler saw so much in kernels of a debugger."""
    return fact(
        "window", 200, steps=10, step=200, wall=0.1, kernels=0.09, ops=[], checks=10 * checks
    )


class ProfilerLeftOn(Cause):
    """
    What happens

    TensorFlow's profiler or one of its debuggers, a session's full trace, or a profiler or tracer of Python is on for
    hundreds of steps.

    Why it is slow

    Each op, or each Python call, is noted down. TensorFlow keeps what it noted in memory until the profiler is
    stopped, and then writes it all at once. A step takes longer, the memory climbs, and the end takes minutes. A
    debugger puts an op of its own behind each op of the graph, which reads its whole result once more.

    The fix

    Profile ten steps in the middle of the training: `tf.profiler.experimental.start` and, ten steps later, `stop`;
    `profile_batch=(10, 20)` in Keras's TensorBoard. Then take it out.

    When we are wrong

    What it costs is told from the steps without it. Where there are none, only the memory that it fills, the time of
    the writing, the kernels of a debugger, and what a traced run of a session takes beside its graph are measured.
    """

    title = "a profiler is left on"
    needs = ("profilers",)
    reads = (FullTrace,)
    deeper_than = ("compute-bound",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            for what in dict.fromkeys(
                str(event.data["what"]) for event in run.of("profiler") if event.data["on"]
            ):
                found = _recorded(run, loop, what)
                if found.on >= _MANY or (found.on >= _FEWEST and found.on >= _MOST_OF * loop.steps):
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
            title=f"{found.what} {_DOES.get(found.what, 'recorded')} {found.on:,} of {loop.steps:,} steps{cost}",
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
            facts={"what": found.what},
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where = finding.location
        what = finding.facts["what"]
        if where is None or what not in _CALLS:
            return None
        calls = [node for node in script.every(ast.Call) if script.name(node.func) in _CALLS[what]]
        lines = [script.recorded(node) for node in calls]
        if where.line not in lines or len(lines) < len(calls):
            return Refusal("the calls that start and stop it were not found", where)
        fixed = script
        for node, line in zip(calls, lines, strict=True):
            if not isinstance(script.parents[node], ast.Expr):
                return Refusal("what the call gives back is used", Location(where.file, line))
            fixed = delete(fixed, line)
        note = (
            "A NaN no longer stops the training where it arises."
            if what == _CHECKS
            else "No profile is written any more; `unslow run` shows the ops of a few steps."
        )
        return Fix(f"take {what} out", Safety.REVIEW, {where.file: fixed.text}, note)

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
                *(at(step, FullTrace(took=0.009, inside=0.004)) for step in _POWERS),
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
            "every run is traced in full, at no cost that could be told",
            [0.01] * 50 + [0.01] * 250,
            facts=[
                _switch(51, True, what=_FULL),
                *(at(step, FullTrace(took=0.009, inside=0.0088)) for step in _POWERS),
            ],
        ),
        Sketch(
            "a look at ten steps",
            [0.01] * 300,
            facts=[_switch(100, True), _switch(110, False, 0.01)],
        ),
        Sketch("a profiler that costs nothing", [0.01] * 300, facts=[_switch(51, True)]),
    )

    def spot(self, source: Source) -> Iterable[Spot]:
        for start, stop in _PAIRS:
            for call in source.calls(start):
                ended = any(source.name(node) == stop for node in source.every(ast.Attribute))
                if not ended and not any(source.conditions(call)):
                    yield source.spot(
                        call,
                        f"this records until {stop} is called, and nothing in this file does so",
                        "record ten steps in the middle of the training, then stop; or leave it away",
                    )
        for made in source.calls("keras.callbacks.TensorBoard"):
            span = argument(made, "profile_batch")
            ends = (
                [source.number_of(end) for end in span.elts]
                if isinstance(span, ast.Tuple | ast.List)
                else []
            )
            first, last = (ends[0], ends[1]) if len(ends) == 2 else (None, None)
            if first is not None and last is not None and last - first >= _MANY:
                yield source.spot(
                    span or made,
                    f"this profiles {last - first + 1:,.0f} batches",
                    "profile_batch=(10, 20)",
                )
        for run in source.session_runs():
            options = source.maker(argument(run, "options", 2))
            if (
                options is None
                or source.name(options.func) != "tf.RunOptions"
                or source.every_step(run) is None
            ):
                continue
            if source.name(argument(options, "trace_level")) == "tf.RunOptions.FULL_TRACE":
                yield source.spot(
                    run,
                    "every run of the loop is traced in full",
                    "trace every thousandth: if step % 1000 == 0: ...",
                )


def _recorded(run: Run, loop: Loop, what: str) -> _Recorded:
    events = [
        event
        for event in run.of("profiler")
        if event.process == loop.process and event.data["what"] == what
    ]
    on = np.zeros(len(loop.end), dtype=bool)
    writing, place = 0.0, None
    for event in events:
        # A step counts by when its update came: after the switch.
        on[loop.end > event.time] = bool(event.data["on"])
        if event.data["on"] and event.data["stack"] and place is None:
            place = say.place(run, event.data["stack"][0])
        if not event.data["on"] and event.time >= loop.start:
            writing += float(event.data["took"])
    if what == _FULL:
        writing += sum(total.seconds for total in totals(run, loop, "timeline"))
    counts = int(loop.count[on].sum()), int(loop.count[~on].sum())
    added = _added(loop.seconds[1:], on[1:])
    if added is None:
        added = (
            _around(run, loop)
            if what == _FULL
            else _checking(run, loop)
            if what in (_CHECKS, _DUMPS)
            else None
        )
    return _Recorded(what, *counts, added, writing, place)


def _around(run: Run, loop: Loop) -> float | None:
    """What a run that is traced in full takes beside the graph itself; None where it is little, or was not seen."""
    seen = [trace for trace in run.facts(FullTrace) if loop.holds(trace) and trace.inside > 0]
    beside = sorted(trace.took - trace.inside for trace in seen)
    middle = beside[len(beside) // 2] if len(beside) >= _SEEN else 0.0
    return middle if middle > max(_LITTLE, 0.1 * loop.typical()) else None


def _checking(run: Run, loop: Loop) -> float | None:
    """What a debugger's own kernels take of a step; None where no step was seen by the profiler, or it is little."""
    looked = windows(run, loop)
    return looked[-1].checks if looked and looked[-1].checks > 0.03 * looked[-1].wall else None


def _advice(found: _Recorded) -> str:
    if found.what == _CHECKS:
        return "Switch it on to look for a NaN, and off again; `tf.debugging.check_numerics` checks one value."
    if found.place is None:
        return "Run without it to see what it costs."
    return "Profile ten steps in the middle of the training (in Keras `profile_batch=(10, 20)`), then take it out."


def _added(seconds: np.ndarray, on: np.ndarray) -> float | None:
    """What a step takes more with it; 0 where that is within the noise."""
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
    since = next(
        event.time for event in run.of("profiler") if event.data["on"] and event.data["what"] == _TF
    )
    times, rss = during(process_of(run, loop), loop, "rss")
    rss = rss[times >= since]
    if len(rss) < 8:
        return 0.0
    third = len(rss) // 3
    late = float(np.median(rss[-third:]) - np.median(rss[third:-third]))
    gained = float(rss[-1] - rss[third])
    steps = loop.steps + 1 - loop.step_at(max(since, loop.start))
    return gained / (steps * 2 / 3) if gained > _GROWN and late > gained / 4 else 0.0
