"""What it costs to build a pipeline again, beyond the traces of its functions."""

from __future__ import annotations

import numpy as np

from unslow.analyse.graphs.retrace_reasons import Blamed
from unslow.facts.data import BuiltStage, Dataset
from unslow.model import Phase, Run

READS = (Dataset,)

# The functions of a new pipeline are prepared when its iterator is made, which takes at least this
# share of the time of their traces.
_PREPARING = 0.5


def stages_of(run: Run, found: Blamed) -> list[BuiltStage]:
    """The stages that are built in the function which the traces were requested from."""
    caller = found.traces[0].caller
    if caller is None:
        return []
    stages = [stage for fact in run.facts(Dataset) for stage in fact.stages if stage.stack]
    where = (caller.file, caller.function)
    return [one for one in stages if (one.stack[0].file, one.stack[0].function) == where]


def lines_of(run: Run, found: Blamed) -> set[tuple[str, int]]:
    return {(stage.stack[0].file, stage.stack[0].line) for stage in stages_of(run, found)}


def rebuilding(run: Run, found: Blamed) -> float:
    """Seconds in the lines that build a pipeline, and in preparing its functions."""
    if found.reason != "pipeline":
        return 0.0
    lines = lines_of(run, found)
    total = building = 0
    for sample in run.samples:
        if sample.training and sample.stack:
            total += sample.in_steps
            line = (sample.stack[0].file, sample.stack[0].line)
            building += sample.in_steps * (sample.phase is Phase.OTHER and line in lines)
    share = building / max(1, total)
    needed_once = 1 - 1 / max(2, found.count + 1)
    return _preparing(run, found) + run.trained * share * needed_once


def _preparing(run: Run, found: Blamed) -> float:
    """The wait for the first batch of each new pipeline, as far as its traces account for it."""
    seconds = 0.0
    for trace in found.traces:
        for loop in run.loops:
            row = int(np.searchsorted(loop.end, trace.fact.time))
            if loop.start <= trace.fact.time and row < len(loop.end):
                wait = float(loop.phases[row, Phase.INPUT] * loop.count[row])
                seconds += min(wait, _PREPARING * trace.seconds) * trace.weight
    return seconds
