"""Periodic long steps are validation, as the script asks for."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.sketches.sketch import Sketch
from unslow.cause import LEAST_SHARE, Cause
from unslow.model import Evidence, Finding, Loop, Phase, Run

_LONG = 3.0  # times a typical step; a judgement: noise seldom triples one
_FEWEST_STEPS = 10  # a judgement: fewer have no typical step
_MOST = 0.5  # of the time that long steps take beyond typical ones


class EvaluationInStep(Cause):
    """
    What happens
    At regular intervals a step takes far longer than the others, because the model is evaluated
    there.

    Why it is slow
    Nothing is wrong: validation is work that the script asks for. Its share of the time is shown
    so that you can weigh it.

    The fix
    To spend less time on it, validate less often (`validation_freq`) or on fewer batches
    (`validation_steps`).

    When we are wrong
    If the evaluation itself has a problem (a dataset that is read again each time), another cause
    names it.
    """

    title = "the long steps are validation"
    needs = ("keras",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.training:
            is_much = loop.phase(Phase.EVAL) >= LEAST_SHARE * loop.total
            if is_much and len(loop.seconds) >= _FEWEST_STEPS:
                yield from self._judge(loop)

    def _judge(self, loop: Loop) -> Iterable[Finding]:
        typical = loop.typical()
        # The first evaluation is traced, and that happens once.
        table = np.delete(loop.phases[1:], (Phase.TRACE, Phase.BUILD), axis=1)
        seconds = table.sum(axis=1)
        long = seconds > _LONG * typical
        evaluated = long & (loop.phases[1:, Phase.EVAL] >= table.max(axis=1))
        # By seconds, not by number: a busy machine makes many steps a little long.
        excess = (seconds - typical) * loop.count[1:]
        if excess[evaluated].sum() <= _MOST * excess[long].sum():
            return
        rows = np.flatnonzero(evaluated)
        if len(rows) > 1:
            period = int(np.median(np.diff(rows)))
            which = f"the long steps are validation, every {period} steps"
        else:
            which = "one long step is validation"
        spent = float((loop.phases[1:, Phase.EVAL] * loop.count[1:])[rows].sum())
        if spent < LEAST_SHARE * loop.total:
            return  # most of it is a little in every step
        yield Finding(
            cause=self.id,
            title=f"{which}: {say.time(spent)}, {say.share(spent / loop.total)} of the training",
            location=loop.location,
            seconds=spent,
            fault=False,
            evidence=(
                Evidence("steps with an evaluation", len(rows)),
                Evidence("such a step", round(float(loop.seconds[1:][rows].mean()), 4), "s"),
                Evidence("a usual step", round(typical, 5), "s"),
            ),
            advice="To spend less on it: `validation_freq` or `validation_steps`.",
        )


def _every(n: int, long: float, of: int = 200) -> list[float]:
    return [long if step % n == n - 1 else 0.01 for step in range(of)]


EvaluationInStep.FIRES = (
    Sketch(
        "validation after each epoch of 50 steps",
        _every(50, 0.5),
        style="keras",
        phases={Phase.EVAL: [0.9 if step % 50 == 49 else 0.0 for step in range(200)]},
    ),
)
EvaluationInStep.QUIET = (
    Sketch("long steps that are something else", _every(50, 0.5), style="keras"),
    Sketch("no evaluation at all", [0.01] * 200),
    Sketch(
        "a little evaluation in every step, and one step in which it took long",
        [0.1 if step == 90 else 0.01 for step in range(200)],
        style="keras",
        phases={Phase.EVAL: [0.9 if step == 90 else 0.2 for step in range(200)]},
    ),
)
