"""Keras callbacks take a large share of the training."""

from __future__ import annotations

import ast
import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.host.hot_lines import hottest_below
from unslow.analyse.sketches.sketch import Fact, Sketch, fact
from unslow.analyse.stats.growth import slope
from unslow.cause import Cause
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import insert_before
from unslow.fix.moves.call_arguments import set_keyword
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

_WORTH = 0.05  # of the training time
_FEWEST = 3  # calls of a hook
_RARE = 0.01  # the share that a thinned-out hook may still take
_PER_BATCH = ("on_train_batch_end", "on_train_batch_begin", "on_batch_end", "on_batch_begin")
_PROGRESS = "ProgbarLogger"


def _hook(at: int, n: int, own: float, name: str = "on_train_batch_end", **data: Any) -> Fact:
    return fact(
        "hook",
        at,
        **{
            "n": n,
            "sum": n * own,
            "took": own,
            "key": f"Plot.{name}",
            "hook": name,
            "callback": "Plot",
            "own": own,
            "own_sum": n * own,
            "users": True,
            "on_thread": True,
            "place": ["train.py", 3, name],
            "module": "__main__",
            **data,
        },
    )


class SlowCallbacks(Cause):
    """
    What happens

    One hook of one callback takes a large part of the time of `fit`: drawing, copying weights, writing, or
    looking through everything seen so far, after every batch or epoch.

    Why it is slow

    Keras calls the hooks between the batches and waits for them; nothing trains meanwhile. A hook for every
    batch is called thousands of times in an epoch. A callback with a hook for every batch also makes Keras
    fetch the metrics after each of them.

    The fix

    Do the work every few hundred batches or once per epoch, on less data, or after the training. The
    progress bar is silent with `verbose=2` (one line per epoch).

    When we are wrong

    A hook may do what the training needs (a schedule, an update of a target network): then only its work can
    be made cheaper. Saving, logging, predicting and fetching of tensors inside a hook are counted for those
    causes, not here.
    """

    title = "callbacks take a large share"
    needs = ("keras",)

    def detect(self, run: Run) -> Iterable[Finding]:
        groups: dict[tuple[int, str], list[Event]] = defaultdict(list)
        for event in run.of("hook"):
            groups[event.process, event.data["key"]].append(event)
        for events in groups.values():
            detailed = [event for event in events if "own_sum" in event.data]
            loop = next((run.loop_of(event) for event in detailed if run.loop_of(event)), None)
            if loop is None or not detailed[-1].data.get("on_thread", True):
                continue  # hooks on Keras's own side thread do not hold up the training
            yield from self._judge(run, loop, events, detailed)

    def _judge(
        self, run: Run, loop: Loop, events: list[Event], detailed: list[Event]
    ) -> Iterable[Finding]:
        last = detailed[-1].data
        calls = int(events[-1].data["n"])
        seconds = float(last["own_sum"]) * calls / int(last["n"])
        growth = _growth(detailed, loop)
        if calls < _FEWEST or (seconds < _WORTH * run.trained and growth is None):
            return
        name = f"{last['callback']}.{last['hook']}"
        each = seconds / calls
        evidence = [
            Evidence("calls", calls),
            Evidence("a call takes", each, "s"),
            Evidence("in this hook", seconds, "s"),
        ]
        share = say.share(seconds / max(run.trained, 1e-9))
        title = f"{name} takes {share} of the training: {say.time(each)} each time"
        forecast = None
        if growth is not None:
            early, late, forecast = growth
            title = f"{name} takes ever longer: from {say.time(early)} to {say.time(late)} a call"
            evidence += [
                Evidence("a call at first", early, "s"),
                Evidence("a call at the end", late, "s"),
            ]
        if last["callback"] == _PROGRESS:
            title = f"the progress bar takes {share} of the training"
        yield Finding(
            cause=self.id,
            title=title,
            location=_where(run, loop, detailed[-1]),
            seconds=seconds,
            evidence=tuple(evidence),
            grows=growth is not None,
            forecast=forecast,
            advice=_advice(last, each, loop),
            facts={
                "callback": last["callback"],
                "hook": last["hook"],
                "users": bool(last.get("users")),
                "place": tuple(last["place"] or ("", 0, "")),
                "every": _every(each, loop),
            },
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        facts, where = finding.facts, finding.location
        if where is None:
            return None
        if facts["callback"] == _PROGRESS:
            fixed = set_keyword(script, where.line, "fit", "verbose", "2")
            return Fix(
                "print one line per epoch",
                Safety.REVIEW,
                {where.file: fixed.text},
                note="The progress bar gives way to one line per epoch.",
            )
        file, line, name = facts["place"]
        if (
            facts["hook"] not in _PER_BATCH
            or not facts["users"]
            or file != where.file
            or name == "<lambda>"
        ):
            return None
        return _less_often(script, where, int(line), int(facts["every"]))

    FIRES = (
        Sketch(
            "a hook takes a third of each batch",
            style="keras",
            phases={Phase.RUN: 0.6, Phase.HOOKS: 0.34},
            facts=[_hook(step, step, 0.0034) for step in range(1, 101)],
        ),
        Sketch(
            "a hook draws all epochs again after each",
            style="keras",
            seconds=(0.01,) * 400,
            phases={Phase.RUN: 0.9, Phase.HOOKS: 0.05},
            facts=[
                _hook(epoch * 10, epoch, 0.002 * epoch, "on_epoch_end", own_sum=0.001 * epoch**2)
                for epoch in range(1, 41)
            ],
        ),
    )
    QUIET = (
        Sketch(
            "a light hook for every batch",
            style="keras",
            phases={Phase.RUN: 0.97, Phase.HOOKS: 0.03},
            facts=[_hook(step, step, 0.0003) for step in range(1, 101)],
        ),
        Sketch(
            "hooks that Keras runs beside the training",
            style="keras",
            phases={Phase.RUN: 0.97},
            facts=[_hook(step, step, 0.0034, on_thread=False) for step in range(1, 101)],
        ),
    )


def _growth(events: list[Event], loop: Loop) -> tuple[float, float, Forecast] | None:
    """Seconds of an early and of a late call, if calls take clearly longer with their number."""
    number = np.array([float(event.data["n"]) for event in events])
    own = np.array([float(event.data["own"]) for event in events])
    if len(own) < 12:
        return None
    rate = slope(number[1:], own[1:])
    third = float(number[-1]) / 3
    early = float(np.median(own[1:][number[1:] <= max(third, number[1])]))
    late = float(np.median(own[number >= 2 * third]))
    if rate.low <= 0 or late < 1.5 * early or late - early < 1e-4:
        return None
    ahead = 10 ** len(str(int(number[-1])))
    then = late + rate.value * (
        ahead - 2.5 * third
    )  # `late` is that of the middle of the last third
    text = f"call {ahead:,} of the hook will take {say.time(then)}"
    each_step = abs(float(number[-1]) - loop.steps) < 0.1 * loop.steps
    return (
        early,
        late,
        Forecast(ahead, loop.trend.after - late + then if each_step else None, text=text),
    )


def _where(run: Run, loop: Loop, event: Event) -> Location:
    """The hottest line of the user's hook; for a callback of a library the call of fit."""
    if not event.data.get("users") or not event.data.get("place"):
        return say.place(run, loop.location)
    place = say.place(run, event.data["place"])
    return say.place(run, hottest_below(run, event.process, place, Phase.HOOKS) or place)


def _every(each: float, loop: Loop) -> int:
    """After how many batches the hook's share would be a hundredth."""
    rest = max(loop.total / max(1, loop.steps) - each, 1e-6)
    wanted = each / (_RARE * rest)
    return int(10 ** math.ceil(math.log10(max(10.0, wanted))))


def _advice(last: Any, each: float, loop: Loop) -> str:
    if last["callback"] == _PROGRESS:
        return "Give fit verbose=2: one line per epoch."
    if last["hook"] in _PER_BATCH:
        return f"Do it every {_every(each, loop):,} batches, or in on_epoch_end: it is called after every batch."
    return "Do it every few epochs, on less, or after the training."


def _less_often(script: Script, where: Location, line: int, every: int) -> Fix | Refusal:
    function = script.function_at(line)
    method = function is not None and isinstance(script.parents[function], ast.ClassDef)
    if function is None or function.lineno < line - 5 or len(function.args.args) <= method:
        return Refusal("the hook's argument with the number of the batch was not found", where)
    number = function.args.args[int(method)].arg
    first = function.body[0]
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and len(function.body) > 1
    ):
        first = function.body[1]  # below the docstring
    fixed = insert_before(script, script.recorded(first), f"if {number} % {every}:\n    return")
    return Fix(
        f"run the hook every {every:,} batches",
        Safety.REVIEW,
        {where.file: fixed.text},
        note=f"{function.name} then does its work for one batch in {every:,}: is that enough for what it is for?",
    )
