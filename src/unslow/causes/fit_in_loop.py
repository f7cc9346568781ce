"""`fit()` is called repeatedly on one model, and each call pays for a new pipeline and loop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from unslow.analyse import wording as say
from unslow.analyse.graphs.repeated_fits import Refit, refits
from unslow.analyse.sketches.sketch import Placed, Sketch, at, sampled
from unslow.cause import Cause
from unslow.facts.functions import Trace
from unslow.facts.keras import Fit
from unslow.facts.schema import Place
from unslow.fix.edit.script import Script
from unslow.fix.moves.fit_to_train_on_batch import fit_as_batch
from unslow.model import Evidence, Finding, Fix, Phase, Refusal, Run, Safety

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
    A fold of a cross-validation needs a call of its own: calls that train for several epochs of
    many batches, or before which the weights are put back, are not reported. If the data of each
    call depends on the training so far, several calls may be needed.
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
        return Finding(
            cause=self.id,
            location=found.location,
            seconds=found.seconds,
            title=f"fit() is called {found.calls:,} times on {on}, and each call spends "
            f"{say.time(each)} around its steps",
            evidence=(
                Evidence("calls of fit()", found.calls),
                Evidence("steps", found.steps),
                Evidence("time per call around its steps", each, "s"),
                Evidence("functions of its input traced again", found.traces),
                Evidence("time in these traces", found.trace_seconds, "s"),
            ),
            advice=_TRAIN_ON_BATCH if found.is_per_batch else _FIT_ONCE,
            detail=_Detail(found.steps == found.calls and found.arrays),
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        if not finding.detail_of(_Detail).one_step_per_call:
            return None
        edited = fit_as_batch(script, finding.place.line)
        title = "train on each batch without a call of fit()"
        return Fix(title, Safety.CLOSE, {script.path: edited.text})


def _fit(step: int, model: int = 1, epochs: int = 1) -> Placed:
    where = Place("train.py", 10, "<module>")
    fit = Fit(stack=(where,), model=model, data="ndarray", n=step, key=str(where))
    return at(step, fit.replace(epochs=epochs))


def _calls(says: str, body: str, steps: int = 70, each: float = 0.01, epochs: int = 1) -> Sketch:
    """Four calls of some steps, each of which takes 0.3 s around them."""
    begins = [1 + steps * call for call in range(4)]
    fits = [_fit(step, epochs=epochs).fact.replace(n=n) for n, step in enumerate(begins, start=1)]
    seconds = [each + 0.3, *([each] * (steps - 1))] * 4
    return Sketch(
        says,
        seconds=seconds,
        phases={Phase.RUN: [each / took for took in seconds]},
        style="keras",
        facts=[at(step, fit) for step, fit in zip(begins, fits, strict=True)],
        samples=[sampled(10, "keras", 12, 13)],
        source="\n" * 7 + "for turn in range(4):\n" + body,
    )


_FILES = "    x, y = load(turn)\n    model.fit(x, y)\n"
_FOLDS = "    model.set_weights(fresh)\n    model.fit(x[parts[turn]], y[parts[turn]], epochs=5)\n"
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
    _calls("a file of a few short steps for each call", _FILES, steps=7),
    _calls("a batch for each call, whose step takes longer than what is around it", _FILES, 1, 0.4),
    _calls("the same, for five epochs", _FILES, 5, 0.1, epochs=5),
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
    _calls("folds of five epochs, longer than what is around them", _FOLDS, epochs=5),
    _calls("small folds, shorter than what is around them", _FOLDS, 20, epochs=5),
    _calls("a file of many steps for each call", _FILES),
    _calls(
        "the weights are put back before each call",
        "    model.set_weights(fresh)\n    model.fit(x, y)\n",
        steps=7,
    ),
)
