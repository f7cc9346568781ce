"""How long the compiled steps of each worker wait for elements, step by step.

A mean over all steps would not do: input that is slow for a while, or in one iterator of several,
makes some steps late and not the others.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from unslow.analyse.input.model_readings import Readings
from unslow.analyse.input.pipeline import Pipeline
from unslow.analyse.input.run_pipelines import pipelines
from unslow.analyse.workers.job import Floats
from unslow.analyse.workers.step_account import Table
from unslow.model import Run

_Curve = npt.NDArray[np.float64]  # steps, and seconds waited until then


def starvation_of(run: Run, processes: Sequence[int], table: Table) -> Floats:
    """Rows x columns: seconds of a step in which its call waits for an element."""
    rows = {process: row for row, process in enumerate(processes)}
    found = np.zeros(table.end.shape, dtype=np.float32)
    for pipeline in pipelines(run):
        row = rows.get(pipeline.process)
        if row is not None and _feeds_compiled_steps(pipeline):
            found[row] += _per_step(pipeline, table, row)
    return found


def _feeds_compiled_steps(pipeline: Pipeline) -> bool:
    is_measured = pipeline.per_step > 0 and math.isfinite(pipeline.wait)
    return is_measured and not pipeline.evaluates and not pipeline.in_python


def _per_step(pipeline: Pipeline, table: Table, row: int) -> _Curve:
    known = table.counted[row] > 0
    end, last = table.end[row, known], table.columns.step[known]
    first = last - table.columns.count[known]
    waited = np.zeros(len(known))
    if not len(last):
        return waited
    for curve in _whole(list(_curves(pipeline, end, last)), float(last[-1])):
        in_all = np.interp(last, *curve) - np.interp(first, *curve)
        waited[known] += np.maximum(in_all, 0) / (last - first)
    return waited


def _curves(pipeline: Pipeline, end: np.ndarray, last: np.ndarray) -> Iterator[_Curve]:
    """One of each iterator, from its first element on."""
    for iterator in pipeline.readings:
        element, waited = _waits(iterator)
        used = [reading for reading in iterator.all if reading.elements or iterator.profiled]
        given = [reading.elements for reading in used]
        at = np.interp([reading.time for reading in used], end, last)
        step, first = np.unique(np.interp(element, given, at), return_index=True)
        waited = waited[first]
        if len(step) < 2:
            continue
        begin = step[0] - element[0] / pipeline.per_step
        # Of the elements before the first reading nothing is known: the pace of the next ones.
        unseen = (step[0] - begin) * (waited[1] - waited[0]) / (step[1] - step[0])
        yield np.array([[begin, *step], [-unseen, *waited]])


def _waits(iterator: Readings) -> tuple[_Curve, _Curve]:
    """Elements, and what had been waited for them when they were given out."""
    if iterator.profiled:
        last = iterator.last
        whole = last.wait / last.over * last.elements  # the window saw a part
        return np.array([0.0, last.elements]), np.array([0.0, whole])
    used = [reading for reading in iterator.all if reading.elements]
    over, at = np.unique([reading.over for reading in used], return_index=True)
    waited = np.array([reading.wait for reading in used])[at]
    # A reading between two elements may count the time since the last one as waiting: what a later
    # reading knows nothing of was none.
    return used[0].elements + over, np.minimum.accumulate(waited[::-1])[::-1]


def _whole(curves: list[_Curve], stop: float) -> Iterator[_Curve]:
    """Iterators are not read when they end: each goes on as before until the next one begins."""
    curves.sort(key=lambda curve: float(curve[0, 0]))
    begins = [float(curve[0, 0]) for curve in curves]
    for step, waited in curves:
        later = begins[bisect.bisect_right(begins, step[-1]) :]
        end = later[0] if later else stop
        more = (end - step[-1]) * (waited[-1] - waited[-2]) / (step[-1] - step[-2])
        yield np.array([[*step, end], [*waited, waited[-1] + more]])
