"""Values are fetched from TensorFlow to Python in every step, and the training waits for them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.host.run_rarely import rare_interval
from unslow.analyse.run.tallies import LineTotal, line_totals
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause, Spot
from unslow.facts.eager import Sync
from unslow.facts.machine import ThreadSettings
from unslow.fix.edit.script import Script
from unslow.fix.moves.run_every_n import guard
from unslow.model import Certainty, Evidence, Finding, Fix, Loop, Phase, Refusal, Run, Safety
from unslow.syntax import How, Kind, Source

_WORTH = 0.03  # of the training time; a judgement: less is not worth an edit
_FEWEST_FETCHES = 10  # a judgement: fewer may be those of a few epochs
_LARGE = 1000  # bytes in a fetch: more than a few numbers
_WAYS = {
    "__float__": "float(…)",
    "__int__": "int(…)",
    "__bool__": "a test of a tensor",
    "__array__": "a NumPy function",
}


def _fetched(step: int, each: float, size: float = 4.0) -> Placed:
    where = stack_at(13, "f")
    taken = Sync(count=step, took=step * each, amount=step * size, steps=step, stack=where)
    return at(step, taken.replace(way="numpy"))


@dataclass(frozen=True)
class _Interval:
    """What the fix needs to know."""

    steps: int  # between two fetches


class HostSync(Cause):
    """
    What happens

    A line reads the value of a tensor in every step (`.numpy()`, `float(…)`, `print`, a test, a
    NumPy function), and the program waits there until the value is available.

    Why it is slow

    The value must be computed and is then copied. On a CPU it is usually ready: reading a loss
    takes a microsecond, and only large values (weights, activations, gradients) cost their copy. On
    an accelerator Python could have prepared the next steps meanwhile: each such line drains the
    queue of work, and the device idles until Python has filled it again.

    The fix

    Fetch every N steps, or keep a running value in a `tf.Variable` or a Keras metric and fetch
    that. Instead of a large tensor, fetch what is needed of it: a norm or a mean, computed by
    TensorFlow.

    When we are wrong

    The time at the line is measured. With an accelerator, part of the wait is the step's own work,
    which must be done anyway: only what Python could have done meanwhile is counted.
    """

    title = "values are fetched in every step"
    reads = (Sync, ThreadSettings)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            for total in line_totals(run, loop, Sync):
                seconds = _gain(run, loop, total)
                if total.count >= _FEWEST_FETCHES and seconds >= _WORTH * run.trained:
                    yield self._finding(run, loop, total, seconds)

    def _finding(self, run: Run, loop: Loop, total: LineTotal[Sync], seconds: float) -> Finding:
        size = total.amount / total.count
        way = _WAYS.get(total.fact.way, f".{total.fact.way}()")
        every = rare_interval(total.seconds, loop.total - total.seconds, loop.steps)
        what, advice = f"a value by {way}", f"Fetch every {every:,} steps."
        if size > _LARGE:
            what = f"{say.size(total.amount / loop.steps)} a step"
            advice += " Or compute what is needed of it (a norm, a mean) in TensorFlow, and fetch "
            advice += "that."
        share = seconds / run.trained
        return Finding(
            cause=self.id,
            location=total.location,
            seconds=seconds,
            title=f"{say.code(total.location)} fetches {what} and takes {say.share(share)} of the "
            "training",
            evidence=(
                Evidence("fetches per step", round(total.count / loop.steps, 2)),
                Evidence("bytes in a fetch", size, "bytes"),
                Evidence("by", way),
                Evidence("a fetch takes", total.seconds / total.count, "s"),
                Evidence("waiting here", total.seconds, "s"),
            ),
            certainty=Certainty.LIKELY if _accelerated(run, loop) else Certainty.MEASURED,
            advice=advice,
            detail=_Interval(every),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        where, every = finding.place, finding.detail_of(_Interval).steps
        return Fix(
            title=f"fetch every {every:,} steps",
            safety=Safety.REVIEW,
            files={where.file: guard(script, where.line, every).text},
            note=f"What this line keeps or shows is then kept or shown for one step in {every:,}.",
        )

    FIRES = (
        Sketch(
            "weights are copied in every step",
            phases={Phase.RUN: 0.7, Phase.SYNC: 0.3},
            facts=[_fetched(step, 0.003, 8e6) for step in (1, 25, 50, 75, 100)],
        ),
        Sketch(
            "an accelerator waits while Python prepares the next batch",
            phases={Phase.RUN: 0.1, Phase.SYNC: 0.6},
            facts=[
                at(1, ThreadSettings(devices=("GPU:0",))),
                *(_fetched(step, 0.006) for step in (1, 25, 50, 75, 100)),
            ],
        ),
    )
    QUIET = (
        Sketch(
            "the loss is read in every step, at no cost",
            phases={Phase.RUN: 0.99, Phase.SYNC: 0.001},
            facts=[_fetched(step, 1e-5) for step in (1, 25, 50, 75, 100)],
        ),
        Sketch(
            "an accelerator is busy all the time, and Python waits for it",
            phases={Phase.RUN: 0.01, Phase.SYNC: 0.98},
            facts=[
                at(1, ThreadSettings(devices=("GPU:0",))),
                *(_fetched(step, 0.0098) for step in (1, 25, 50, 75, 100)),
            ],
        ),
    )

    def spot(self, source: Source) -> Iterable[Spot]:
        """Whole weights only: on a CPU, reading a loss in every step costs nothing."""
        for call in source.every(ast.Call):
            loop = source.innermost(call)
            if loop is None or loop not in source.step_loops or not _reads_weights(source, call):
                continue
            if not any(source.conditions(call, loop)):
                yield source.spot(
                    call,
                    f"this copies weights to the host in every step of the loop at line "
                    f"{loop.lineno}, and Python waits for them; it matters when they are large",
                    "read them every hundred steps: if step % 100 == 0: ...",
                )


def _accelerated(run: Run, loop: Loop) -> bool:
    return any(settings.devices for settings in run.facts(ThreadSettings, loop.process))


def _gain(run: Run, loop: Loop, total: LineTotal[Sync]) -> float:
    """Seconds that not waiting would save.

    On a CPU that is the copy. With an accelerator, Python and the device could work side by side:
    what can be saved is the shorter of the two.
    """
    if not _accelerated(run, loop):
        return min(total.seconds, loop.total)
    return max(0.0, min(total.seconds, loop.total - loop.phase(Phase.SYNC)))


def _reads_weights(source: Source, call: ast.Call) -> bool:
    """`get_weights()`, or `.numpy()` of each variable in turn or of one made from an array."""
    if not isinstance(call.func, ast.Attribute) or call.args:
        return False
    value, kind = call.func.value, source.kind(call.func.value)
    if (kind, call.func.attr) == (Kind.MODEL, "get_weights"):
        return True
    if (kind, call.func.attr) != (Kind.VARIABLE, "numpy"):
        return False
    bindings = source.reaching(value) if isinstance(value, ast.Name) else []
    if any(binding.how is How.LOOP for binding in bindings):
        return True
    made = source.maker(value)
    return made is not None and bool(made.args) and isinstance(made.args[0], ast.Call)
