"""`fit()` is called repeatedly on one model, and each call pays for a new pipeline and loop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.graphs.repeated_fits import Refit, refits
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause
from unslow.facts.functions import Trace
from unslow.facts.keras import Fit
from unslow.facts.schema import Place
from unslow.fix.edit.script import Script
from unslow.fix.moves.fit_to_train_on_batch import fit_as_batch
from unslow.model import Evidence, Finding, Fix, Location, Phase, Refusal, Run, Safety, Sample

_TRAIN_ON_BATCH = (
    "Use train_on_batch() for single batches: it keeps its graph and needs no input pipeline."
)
_FIT_ONCE = (
    "Call fit() once with epochs=…, and do what the loop does between the calls in a callback."
)


@dataclass(frozen=True)
class _Detail:
    """What the fix needs to know."""

    one_step_per_call: bool  # and the data are arrays: train_on_batch does the same


class FitInLoop(Cause):
    """
    What happens
    The program calls `fit()` many times on the same model: once per batch, row, file or epoch.

    Why it is slow
    Every call builds an input pipeline, traces its functions, creates an iterator with its threads,
    starts the callbacks and waits for all of them to end. That takes tens to hundreds of
    milliseconds, however little the call trains.

    The fix
    For single batches, call `train_on_batch()`, which keeps its graph and needs no pipeline. For
    epochs, call `fit()` once with `epochs=`, and do what the loop does between the calls in a
    callback (`on_epoch_end`). For several files, put them into one `tf.data` pipeline.

    When we are wrong
    A call that trains for longer than its fixed cost is reported only where it is one epoch on the
    same data: a fold of a cross-validation or a round on new data needs a call of its own. If the
    data of each call depends on the training so far, several calls may be needed even for little.
    """

    title = "fit() is called repeatedly on one model"
    reads = (Fit, Trace)
    deeper_than = ("retracing", "tiny-batches", "kernels-rebuilt", "iterator-rebuilt")

    def detect(self, run: Run) -> Iterable[Finding]:
        for found in refits(run):
            yield self._finding(found)

    def _finding(self, found: Refit) -> Finding:
        each = found.around
        on = "one model" if found.models == 1 else f"{found.models} models"
        is_per_batch = found.steps <= 2 * found.calls
        return Finding(
            cause=self.id,
            location=found.location,
            seconds=found.seconds,
            title=f"fit() is called {found.calls:,} times on {on}, and each call spends "
            f"{say.time(each)} around its steps",
            evidence=(
                Evidence("calls of fit()", found.calls),
                Evidence("steps", found.steps),
                Evidence("seconds per call around its steps", each, "s"),
                Evidence("functions of its input traced again", found.traces),
                Evidence("seconds in these traces", found.trace_seconds, "s"),
            ),
            advice=_TRAIN_ON_BATCH if is_per_batch else _FIT_ONCE,
            detail=_Detail(found.steps == found.calls and found.arrays),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        detail, where = finding.detail, finding.location
        assert isinstance(detail, _Detail) and where is not None
        if not detail.one_step_per_call:
            return None
        edited = fit_as_batch(script, where.line)
        title = "train on each batch without a call of fit()"
        return Fix(title, Safety.CLOSE, {script.path: edited.text})


def _fit(step: int, model: int = 1, epochs: int = 1) -> Placed:
    where = Place("train.py", 10, "<module>")
    fit = Fit(stack=(where,), model=model, data="ndarray", n=step, key=str(where))
    return at(step, fit.replace(epochs=epochs))


def _calls(says: str, body: str, calls: int = 4, epochs: int = 1) -> Sketch:
    """Calls of 70 steps of 10 ms, each of which takes 0.3 s around them."""
    begins = [1 + 70 * call for call in range(calls)]
    facts = [_fit(step, epochs=epochs).fact.replace(n=n) for n, step in enumerate(begins, start=1)]
    preparing = [0.3, *([0.0] * 69)] * calls
    seconds = [0.01 + extra for extra in preparing]
    return Sketch(
        says,
        seconds=seconds,
        phases={Phase.RUN: [0.01 / each for each in seconds]},
        style="keras",
        facts=[at(step, fact) for step, fact in zip(begins, facts, strict=True)],
        samples=[Sample((Location("train.py", 10),), "keras", 0, True, 12, 13, 25)],
        source="\n" * 7 + "for turn in range(4):\n" + body,
    )


_SAME_DATA = "    note(turn)\n    model.fit(x, y, verbose=0)\n"

FitInLoop.FIRES = (
    Sketch(
        "fit() is called for every step, and most of its calls are not written",
        phases={Phase.RUN: 0.1, Phase.TRACE: 0.3},
        style="keras",
        facts=[_fit(step) for step in (*range(1, 20), *range(20, 101, 5))],
    ),
    Sketch(
        "the same for three models in turn",
        phases={Phase.RUN: 0.1, Phase.TRACE: 0.3},
        style="keras",
        facts=[_fit(step, 1 + step // 34) for step in range(1, 101)],
    ),
    _calls("a call for each epoch, on the same data", _SAME_DATA),
)
FitInLoop.QUIET = (
    Sketch(
        "each of many models is fitted once",
        phases={Phase.RUN: 0.6, Phase.OTHER: 0.4},
        style="keras",
        facts=[_fit(step, step) for step in range(1, 100, 10)],
    ),
    Sketch(
        "one call of fit()",
        phases={Phase.RUN: 0.6, Phase.OTHER: 0.4},
        style="keras",
        facts=[_fit(1)],
    ),
    _calls(
        "folds of two epochs, which take longer than what is around them",
        "    model.set_weights(fresh)\n    model.fit(x[parts[turn]], y[parts[turn]], epochs=2)\n",
        epochs=2,
    ),
    _calls(
        "a file for each call, of many steps",
        "    x, y = load(turn)\n    model.fit(x, y)\n",
    ),
    _calls(
        "the weights are put back before each call",
        "    model.set_weights(fresh)\n    model.fit(x, y)\n",
    ),
)
