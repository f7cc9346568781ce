"""How many rows of data a training step takes."""

from __future__ import annotations

import math
from collections.abc import Iterator

from unslow.analyse.memory.data_calls import DataCall, largest_shape, model_of
from unslow.facts.data import Dataset, IteratorMade
from unslow.facts.functions import Trace, UnusualCall
from unslow.facts.keras import Fit
from unslow.model import Run

READS = (Dataset, Fit, IteratorMade, Trace, UnusualCall)
_KERAS_BATCH = 32  # the batch of fit, evaluate and predict where none is given


def training_rows(run: Run, process: int) -> float:
    """Rows of the largest batch that training used; the batch that is usual where none is known."""
    compiled = max((largest_shape(call)[0] for call in _steps(run, process)), default=0)
    return _fit_rows(run, process) or compiled or float(_KERAS_BATCH)


def rows_of_step(run: Run, process: int, call: DataCall) -> float:
    """Rows like those of a compiled call that a step of the same model takes; 0 where unknown."""
    updating = [trace for trace in run.facts(Trace, process) if trace.updates]
    trained = set(filter(None, map(model_of, updating)))
    if not (trained & call.models if trained else any(call.models)):
        return 0.0
    steps = [shape for step in _steps(run, process) for shape in step.shapes if shape]
    if steps:
        return max((shape[0] for shape in steps if shape[1:] == call.row), default=0)
    return _fit_rows(run, process) or _eager_rows(run, process, call.row)


def _steps(run: Run, process: int) -> list[UnusualCall]:
    """Calls of the compiled functions that update weights."""
    traces = run.facts(Trace, process)
    updating = {trace.function for trace in traces if trace.updates}
    return [call for call in run.facts(UnusualCall, process) if call.function in updating]


def _fit_rows(run: Run, process: int) -> float:
    """The largest batch of `fit`: given as a number, or by the dataset that it was given."""
    fits = run.facts(Fit, process)
    return max((number(call.batch_size) for call in fits), default=0.0) or max(
        _dataset_batches(run, process), default=0.0
    )


def _dataset_batches(run: Run, process: int) -> Iterator[float]:
    made = run.facts(IteratorMade, process)
    in_fit = {one.dataset for one in made if one.in_fit and not one.evaluates}
    for dataset in run.facts(Dataset, process):
        if dataset.dataset in in_fit:
            sizes = (stage.batch_size for stage in dataset.stages if stage.batch_size)
            yield float(next(sizes, 0))


def _eager_rows(run: Run, process: int, row: tuple[int, ...]) -> float:
    """Of eager steps the numbers in their first tensor are known: as many rows as they make."""
    training = [loop.elements for loop in run.loops_of(process) if loop.trains]
    known = [elements for elements in training if elements is not None and len(elements)]
    rows = max((float(elements.max()) for elements in known), default=0.0) / max(1, math.prod(row))
    return rows if rows.is_integer() else 0.0


def number(value: object) -> float:
    """A batch size that was given as a number; 0 for anything else."""
    return float(value) if isinstance(value, int | float) else 0.0
