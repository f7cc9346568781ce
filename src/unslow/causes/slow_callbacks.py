"""Keras callbacks take a large share of the training."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.host.hot_lines import hottest_below
from unslow.analyse.host.run_rarely import rare_interval
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.analyse.stats.growth import slope
from unslow.cause import Cause
from unslow.facts.keras import Epoch, Hook
from unslow.facts.schema import Place
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import insert_before
from unslow.fix.moves.call_arguments import set_keyword
from unslow.fix.moves.run_less_often import function_rarer
from unslow.model import (
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

_WORTH = 0.05  # of the training time; a judgement: less is not worth an edit
_FEWEST_CALLS = 3  # of a hook: the first one also prepares what it uses
# A hook that was called more rarely, once in each of a few epochs, may be what the script is for.
_MANY_CALLS = 8
_WORTH_RARELY = 0.25
_TREND_CALLS = 12  # at least, to tell growth from noise (judgement)
_GROWN = 1.5  # a late call against an early one: less may be the machine (judgement)
_LEAST_GROWTH = 1e-4  # seconds
_DECORATORS = 5  # lines above the recorded one that a function may begin at
_PER_BATCH = ("on_train_batch_end", "on_train_batch_begin", "on_batch_end", "on_batch_begin")
_PROGRESS = "ProgbarLogger"


@dataclass(frozen=True)
class _Rarer:
    """The hook to call less often."""

    hook: Hook
    every: int  # batches


_HOOK = Hook(
    key="Plot",
    hook="on_train_batch_end",
    callback="Plot",
    users=True,
    place=Place("train.py", 3, "on_train_batch_end"),
)


def _called(step: int, n: int, own: float, hook: Hook = _HOOK) -> Placed:
    total = hook.own_sum or n * own
    return at(step, hook.replace(n=n, sum=total, took=own, own=own, own_sum=total))


class SlowCallbacks(Cause):
    """
    What happens

    One hook of one callback takes a large share of `fit`: drawing, copying weights, writing, or
    going through everything seen so far, after every batch or epoch.

    Why it is slow

    Keras calls the hooks between batches and waits for them; nothing trains meanwhile. A hook for
    every batch is called thousands of times per epoch, and makes Keras fetch the metrics after each
    batch.

    The fix

    Do the work every few hundred batches or once per epoch, on less data, or after the training.
    The progress bar is silent with `verbose=2` (one line per epoch).

    When we are wrong

    A hook may do what the training needs (a schedule, an update of a target network): then it can
    only be made cheaper. Saving, logging, predicting and fetching tensors inside a hook count for
    those causes, not for this one.
    """

    title = "callbacks take a large share"
    reads = (Hook, Epoch)

    def detect(self, run: Run) -> Iterable[Finding]:
        by_hook: dict[tuple[int, str], list[Hook]] = defaultdict(list)
        for hook in run.facts(Hook):
            by_hook[hook.process, hook.key].append(hook)
        for calls in by_hook.values():
            loop = next(filter(None, map(run.loop_of, calls)), None)
            if loop is not None and calls[-1].on_thread:  # else the training does not wait for it
                yield from self._judge(run, loop, calls)

    def _judge(self, run: Run, loop: Loop, calls: list[Hook]) -> Iterable[Finding]:
        last = calls[-1]
        seconds = _seconds(calls)
        growth = _growth(calls, loop)
        worth = _WORTH if last.n >= _MANY_CALLS else _WORTH_RARELY
        is_slow = seconds >= worth * run.trained or growth is not None
        if last.n < _FEWEST_CALLS or not is_slow:
            return
        each = seconds / last.n
        share = say.share(seconds / run.trained)
        name = f"{last.callback}.{last.hook}"
        title = f"{name} takes {share} of the training: {say.time(each)} a call"
        evidence = [
            Evidence("calls", last.n),
            Evidence("one call", each, "s"),
            Evidence("in this hook", seconds, "s"),
        ]
        if growth is not None:
            early, late = growth.early, growth.late
            title = f"{name} takes ever longer: from {say.time(early)} to {say.time(late)} a call"
            evidence.append(Evidence("a call at first", early, "s"))
            evidence.append(Evidence("a call at the end", late, "s"))
        if last.callback == _PROGRESS:
            title = f"the progress bar takes {share} of the training"
        # The number of the batch starts again with every epoch: no interval may be longer.
        epochs = [one for one in run.facts(Epoch) if loop.holds(one) or one.time >= loop.stop]
        batches = loop.steps // max(1, len(epochs))
        every = rare_interval(each, loop.total / loop.steps - each, 2 * batches)
        yield Finding(
            cause=self.id,
            title=title,
            location=_where(run, loop, last),
            seconds=seconds,
            evidence=tuple(evidence),
            grows=growth is not None,
            forecast=growth.forecast if growth is not None else None,
            advice=_advice(last, every),
            detail=_Rarer(last, every),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, detail = finding.place, finding.detail_of(_Rarer)
        hook, place = detail.hook, detail.hook.place
        if hook.callback == _PROGRESS:
            fixed = set_keyword(script, where.line, "fit", "verbose", "2", position=4)
            return Fix(
                "print one line per epoch",
                Safety.REVIEW,
                {where.file: fixed.text},
                note="The progress bar is replaced by one line per epoch.",
            )
        if place is None or hook.hook not in _PER_BATCH or not hook.users:
            return None
        if place.file != where.file or place.function == "<lambda>":
            return None
        return _less_often(script, where, place.line, detail.every)

    FIRES = (
        Sketch(
            "a hook takes a third of each batch",
            style="keras",
            phases={Phase.RUN: 0.6, Phase.HOOKS: 0.34},
            facts=[_called(step, step, 0.0034) for step in range(1, 101)],
        ),
        Sketch(
            "a hook draws all epochs again after each",
            style="keras",
            seconds=(0.01,) * 400,
            phases={Phase.RUN: 0.9, Phase.HOOKS: 0.05},
            facts=[
                _called(
                    epoch * 10,
                    epoch,
                    0.002 * epoch,
                    _HOOK.replace(hook="on_epoch_end", own_sum=0.001 * epoch**2),
                )
                for epoch in range(1, 41)
            ],
        ),
    )
    QUIET = (
        Sketch(
            "what a script does after each of four epochs",
            style="keras",
            phases={Phase.RUN: 0.8, Phase.HOOKS: 0.15},
            facts=[
                _called(epoch * 25, epoch, 0.04, _HOOK.replace(hook="on_epoch_end"))
                for epoch in range(1, 5)
            ],
        ),
        Sketch(
            "a light hook for every batch",
            style="keras",
            phases={Phase.RUN: 0.97, Phase.HOOKS: 0.03},
            facts=[_called(step, step, 0.0003) for step in range(1, 101)],
        ),
        Sketch(
            "hooks that Keras runs beside the training",
            style="keras",
            phases={Phase.RUN: 0.97},
            facts=[
                _called(step, step, 0.0034, _HOOK.replace(on_thread=False))
                for step in range(1, 101)
            ],
        ),
    )


def _seconds(calls: list[Hook]) -> float:
    """All calls together, the first counted as a later one: it also prepares what it uses."""
    own = [call.own for call in calls]
    later = float(np.median(own[1:])) if len(own) > 1 else own[0]
    return calls[-1].own_sum - max(0.0, own[0] - later)


@dataclass(frozen=True)
class _Growth:
    """Seconds of an early and of a late call, and where that leads."""

    early: float
    late: float
    forecast: Forecast


def _growth(calls: list[Hook], loop: Loop) -> _Growth | None:
    """None unless calls clearly take longer with their number."""
    if len(calls) < _TREND_CALLS:
        return None
    number = np.array([float(call.n) for call in calls])
    own = np.array([call.own for call in calls])
    rate = slope(number[1:], own[1:])
    last = float(number[-1])
    third = last / 3
    early = float(np.median(own[1:][number[1:] <= max(third, number[1])]))
    late = float(np.median(own[number >= 2 * third]))
    if rate.low <= 0 or late < _GROWN * early or late - early < _LEAST_GROWTH:
        return None
    ahead = 10 ** len(str(int(last)))
    then = late + rate.value * (ahead - 2.5 * third)  # `late`: in the middle of the last third
    is_per_step = abs(last - loop.steps) < 0.1 * loop.steps
    step_seconds = loop.trend.after - late + then if is_per_step else None
    text = f"call {ahead:,} of the hook will take {say.time(then)}"
    return _Growth(early, late, Forecast(ahead, step_seconds, text=text))


def _where(run: Run, loop: Loop, hook: Hook) -> Location:
    """The hottest line of the user's hook; for a callback of a library the call of fit."""
    if not hook.users or hook.place is None:
        return say.place(run, loop.location)
    place = say.place(run, hook.place)
    return say.place(run, hottest_below(run, hook.process, place, Phase.HOOKS) or place)


def _advice(hook: Hook, every: int) -> str:
    if hook.callback == _PROGRESS:
        return "Give fit verbose=2: one line per epoch."
    if hook.hook in _PER_BATCH:
        return f"Do it every {every:,} batches, or in on_epoch_end: it is called after every batch."
    return "Do it every few epochs, on less data, or after the training."


def _less_often(script: Script, where: Location, line: int, every: int) -> Fix | Refusal:
    unknown = Refusal("the hook's argument with the number of the batch was not found", where)
    function = script.function_at(line)
    if function is None or function.lineno < line - _DECORATORS:
        return unknown
    is_method = isinstance(script.parents[function], ast.ClassDef)
    arguments = [one.arg for one in function.args.args][int(is_method) :]
    if not arguments:
        return unknown
    fixed = function_rarer(script, function, every)
    title = "lengthen the interval of the hook"
    if fixed is None:
        title = f"run the hook every {every:,} batches"
        first = function.body[0]
        if ast.get_docstring(function) is not None and len(function.body) > 1:
            first = function.body[1]
        guard = f"if {arguments[0]} % {every}:\n    return"
        fixed = insert_before(script, script.recorded(first), guard)
    return Fix(
        title,
        Safety.REVIEW,
        fixed.files,
        note=f"{function.name} then does its work for about one batch in {every:,}: "
        "is that enough for what it is for?",
    )
