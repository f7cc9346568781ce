"""Periodic long steps are validation, as the script asks for."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.sketches.sketch import Sketch
from unslow.cause import Cause
from unslow.model import Evidence, Finding, Loop, Phase, Run

_SHARE = 0.05  # of the training: less is not worth a word
_LONG = 3.0  # times a usual step
_FEWEST = 10  # steps


class EvaluationInStep(Cause):
    """
    What happens
    Some steps, at regular distances, take far longer than the rest, because the model is evaluated
    between them.

    Why it is slow
    It is not: validation is work that the script asks for. Its share of the time is shown so that
    it can be weighed.

    The fix
    If it is too much: validate less often (`validation_freq`), on fewer batches
    (`validation_steps`), or with a larger batch size, which needs no gradients and so less memory.

    When we are wrong
    Where the evaluation itself has a fault (a dataset that is read anew each time), its own cause
    names it.
    """

    title = "the long steps are validation"
    needs = ("keras",)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.training:
            yield from self._judge(loop)

    def _judge(self, loop: Loop) -> Iterable[Finding]:
        if len(loop.seconds) < _FEWEST:
            return
        spent = loop.phase(Phase.EVAL)
        typical = loop.typical()
        # The first evaluation is traced, and that happens once.
        table = np.delete(loop.phases[1:], (Phase.TRACE, Phase.BUILD), axis=1)
        long = table.sum(axis=1) > _LONG * typical
        evaluated = loop.phases[1:, Phase.EVAL] >= table.max(axis=1)
        # By seconds, not by number: a busy machine makes many steps a little long.
        excess = (table.sum(axis=1) - typical) * loop.count[1:]
        explained = excess[long & evaluated].sum() > 0.5 * excess[long].sum()
        if spent < _SHARE * loop.total or not explained:
            return
        at = np.flatnonzero(long & evaluated)
        period = int(np.median(np.diff(at))) if len(at) > 1 else 0
        which = f"the long steps are validation, every {period} steps"
        which = which if period else "one long step is validation"
        yield Finding(
            cause=self.id,
            title=f"{which}: {say.time(spent)}, {say.share(spent / loop.total)} of the training",
            location=loop.location,
            seconds=spent,
            fault=False,
            evidence=(
                Evidence("evaluations", len(at)),
                Evidence("each", round(float(loop.seconds[1:][at].mean()), 4), "s"),
                Evidence("a usual step", round(typical, 5), "s"),
            ),
            advice="To spend less on it: `validation_freq`, `validation_steps`, or a larger "
            "validation batch.",
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
)
