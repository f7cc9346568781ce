"""What repeated calls of fit() on one model cost: each prepares its input and its loop again."""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse.grouping import grouped
from unslow.analyse.places import by_users, line_of
from unslow.analyse.run.thinned import weighted
from unslow.analyse.sampled_time import below, in_phase, in_steps, training_samples
from unslow.analyse.scopes import Sources
from unslow.analyse.stats.robust import median_of, ratio
from unslow.facts.functions import Trace
from unslow.facts.keras import Fit
from unslow.model import Location, Loop, Phase, Run
from unslow.syntax.nodes import argument, inside, lines_of, method_of
from unslow.syntax.uses import bound_in

if TYPE_CHECKING:
    from unslow.model import Ints

    # Calls that were written, each with the number that it stands for.
    Calls = Sequence[tuple[Fit, int]]

_FEWEST_CALLS = 4
_FEW_BATCHES = 2  # in an epoch of a call: the second one is what is left over
_PUT_BACK = ("set_weights", "load_weights")  # of Keras: another training begins
_NOT_OF_FIT = [Phase.RUN, Phase.EVAL, Phase.SAVE, Phase.LOG]


@dataclass(frozen=True)
class Refit:
    """Calls of fit() at one line, on one model or on several."""

    location: Location
    calls: int
    models: int
    steps: int
    epochs: int  # of a call; 1 where they are not known
    traces: int
    trace_seconds: float
    arrays: bool  # the data were arrays or tensors, not a pipeline or a generator
    seconds: float  # what the calls after the first took before and around their steps
    trained: float  # seconds that TensorFlow ran in the steps of a call

    @property
    def is_per_batch(self) -> bool:
        """Whether a call trains on a batch or two, perhaps for several epochs."""
        return self.steps <= _FEW_BATCHES * self.calls * self.epochs

    @property
    def around(self) -> float:
        """Seconds that a call takes before and around its steps."""
        return self.seconds / max(1, self.calls - self.models)


def refits(run: Run) -> Iterable[Refit]:
    """Lines that call fit() many times on the same model, or on several models in turn.

    Only where something else could train the same: `train_on_batch` where a call is a batch, one
    call where each is an epoch on the same data, one pipeline where each is a short piece of it. A
    fold or a round of several epochs needs a call of its own, and what is paid around its steps is
    the price of the task.
    """
    for found, calls in _repeated(run):
        where = found.location
        is_short_piece = found.around >= found.trained and _is_piece(run, where, calls)
        if found.is_per_batch or is_short_piece or _is_epoch(run, where, calls):
            yield found


def _repeated(run: Run) -> Iterable[tuple[Refit, Calls]]:
    by_line = grouped(
        weighted(by_users(run.facts(Fit))),
        lambda call: (call[0].process, Location(*call[0].stack[0])),
    )
    for (process, place), calls in by_line.items():
        loop = next((loop for loop in run.loops_of(process) if _is_fit(loop, place)), None)
        models = grouped(calls, lambda call: call[0].model).values()
        often = [calls for calls in models if len(calls) >= _FEWEST_CALLS]
        if loop is not None and often:
            yield _refit(run, loop, place, often), list(chain.from_iterable(often))


def _is_epoch(run: Run, place: Location, calls: Calls) -> bool:
    """Whether each call is one epoch of the same training, which `epochs=` could ask for."""
    sources = Sources(run.sources)
    loops = sources.loops(place)
    if not loops or not _is_piece(run, place, calls):
        return False
    fits = [call for call in sources.tree(place.file).every(ast.Call) if method_of(call) == "fit"]
    data = [argument(call, "x", 0) for call in fits if place.line in lines_of(call)]
    changed = bound_in(loops[-1])
    return bool(data) and not any(_varies(part, changed) for part in data)


def _is_piece(run: Run, place: Location, calls: Calls) -> bool:
    """Whether each call goes once over its data, and goes on where the last one ended."""
    if any(fit.epochs != 1 for fit, _ in calls):
        return False
    around = Sources(run.sources).loops(place)[-1:]
    return not any(method_of(call) in _PUT_BACK for call in inside(around, ast.Call))


def _varies(data: ast.expr | None, changed: Collection[str]) -> bool:
    """Whether an argument is missing, or may give other data in each turn of a loop."""
    if data is None or any(inside(data, ast.Call)):
        return True
    return any(name.id in changed for name in inside(data, ast.Name))


def amid_fit(run: Run, loop: Loop) -> Ints:
    """Rows that did not come right after a call of fit(); the first row is none of them."""
    return _rows(loop, list(weighted(run.facts(Fit, loop.process))))[1]


def _rows(loop: Loop, calls: Calls) -> tuple[Ints, Ints]:
    """Rows that came right after a call of fit(), and rows that did not; the first row is in
    neither.

    Where calls are thinned out, others lie between those that were written: nothing is said of rows
    there.
    """
    begun = np.unique(np.searchsorted(loop.end, [event.time for event, _ in calls]))
    before_gaps = (event.time for (event, _), (_, weight) in pairwise(calls) if weight > 1)
    all_seen = next(before_gaps, math.inf)
    others = np.setdiff1d(np.arange(1, np.searchsorted(loop.end, all_seen)), begun)
    return begun[(begun > 0) & (begun < len(loop.end))], others


def _is_fit(loop: Loop, place: Location) -> bool:
    return loop.style == "keras" and line_of(loop.location) == line_of(place)


def _refit(run: Run, loop: Loop, place: Location, models: Sequence[Calls]) -> Refit:
    """The first call of each model would be needed anyway."""
    calls = list(chain.from_iterable(models))
    repeated = list(chain.from_iterable(each[1:] for each in models))
    first, _ = _rows(loop, repeated)
    number = sum(weight for _, weight in calls)
    traces = _keras_traces(run, loop.process, after=repeated[0][0].time)
    extra = _extra(run, loop, place, first)
    return Refit(
        location=place,
        calls=number,
        steps=loop.steps,
        epochs=max((fit.epochs for fit, _ in calls if isinstance(fit.epochs, int)), default=1),
        traces=sum(weight for _, weight in traces),
        arrays=all(fit.data in ("ndarray", "EagerTensor") for fit, _ in calls),
        trace_seconds=sum(weight * trace.took for trace, weight in traces if trace.depth == 0),
        models=len(models),
        seconds=extra * (number - len(models)) / max(1, len(first)),
        trained=loop.phase(Phase.RUN) / number,
    )


def _extra(run: Run, loop: Loop, place: Location, first: Ints) -> float:
    """Seconds that the first rows of repeated calls took beyond a usual row."""
    outside = _outside(run, loop, place)
    apart = loop.phases[:, _NOT_OF_FIT].sum(axis=1) + loop.phases[:, Phase.OTHER] * outside
    around = loop.seconds - apart
    usual = median_of(around[amid_fit(run, loop)])
    # Every call traces the same for its input: what one traces beyond that is another's, such as
    # evaluate().
    traced = loop.phases[first, Phase.TRACE]
    beyond = np.maximum(0.0, traced - median_of(traced))
    return float(np.maximum(0.0, around[first] - beyond - usual).sum())


def _keras_traces(run: Run, process: int, after: float) -> list[tuple[Trace, int]]:
    """Traces that Keras made in a process after a moment, with their weights."""
    keras = [trace for trace in run.facts(Trace, process) if trace.way == "keras"]
    return [(trace, weight) for trace, weight in weighted(keras) if trace.time > after]


def _outside(run: Run, loop: Loop, place: Location) -> float:
    """The share of the Python between calls that is not below the call of fit()."""
    between = in_phase(training_samples(run, loop.process), Phase.OTHER)
    in_fit = below(between, place.file, (place.line,))
    return ratio(in_steps(between) - in_steps(in_fit), in_steps(between))
