"""What it costs to put a pipeline together again, beyond the traces of its functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unslow.analyse.graphs.retrace_reasons import Blamed
from unslow.model import Phase, Run

# The functions of a new pipeline are prepared when its iterator is made: at least this share of their traces.
_PREPARING = 0.5


def stages_of(run: Run, found: Blamed) -> list[Mapping[str, Any]]:
    """The stages of the pipelines that are put together in the function where the traces were asked for."""
    where = found.traces[0].caller
    stages = (
        stage
        for event in run.of("dataset")
        for stage in event.data.get("stages", ())
        if stage.get("stack")
    )
    return (
        []
        if where is None
        else [stage for stage in stages if _place(stage)[::2] == (where.file, where.function)]
    )


def lines_of(run: Run, found: Blamed) -> set[tuple[str, int]]:
    return {_place(stage)[:2] for stage in stages_of(run, found)}


def _place(stage: Mapping[str, Any]) -> tuple[str, int, str]:
    file, line, function = stage["stack"][0]
    return str(file), int(line), str(function)


def rebuilding(run: Run, found: Blamed) -> float:
    """Seconds in which the lines of a pipeline make its other stages, and its functions are prepared to run."""
    if found.reason != "pipeline":
        return 0.0
    lines = lines_of(run, found)
    inside = [
        sample for sample in run.samples if sample.training and sample.stack and sample.in_steps
    ]
    whole = sum(sample.in_steps for sample in inside)
    making = sum(
        sample.in_steps
        for sample in inside
        if sample.phase is Phase.OTHER and (sample.stack[0].file, sample.stack[0].line) in lines
    )
    again = 1 - 1 / max(2, found.count + 1)
    return _prepared(run, found) + (run.trained * making / whole * again if whole else 0.0)


def _prepared(run: Run, found: Blamed) -> float:
    """The wait for the first batch of each new pipeline, as far as its traces account for it."""
    seconds = 0.0
    for trace in found.traces:
        for loop in run.loops:
            row = int(np.searchsorted(loop.end, trace.fact.time))
            if loop.start <= trace.fact.time and row < len(loop.end):
                wait = float(loop.phases[row, Phase.INPUT] * loop.count[row])
                seconds += min(wait, _PREPARING * trace.seconds) * trace.weight
    return seconds
