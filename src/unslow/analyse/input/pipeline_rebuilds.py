"""What it costs to build a pipeline again, beyond the traces of its functions."""

from __future__ import annotations

import numpy as np

from unslow.analyse.graphs.retrace_reasons import Blamed
from unslow.analyse.input.dataset_variants import built_stages
from unslow.analyse.places import by_users, function_of, lines_in
from unslow.analyse.sampled_time import in_phase, in_steps, is_at
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
    function = function_of(caller)
    return [
        stage for stage in by_users(built_stages(run)) if function_of(stage.stack[0]) == function
    ]


def lines_of(run: Run, found: Blamed) -> set[tuple[str, int]]:
    return lines_in(stage.stack[0] for stage in stages_of(run, found))


def rebuilding(run: Run, found: Blamed) -> float:
    """Seconds in the lines that build a pipeline, and in preparing its functions."""
    if found.reason != "pipeline":
        return 0.0
    lines = lines_of(run, found)
    training = [sample for sample in by_users(run.samples) if sample.training]
    building = [sample for sample in in_phase(training, Phase.OTHER) if is_at(sample, lines)]
    share = in_steps(building) / max(1, in_steps(training))
    needed_once = 1 - 1 / max(2, found.count + 1)
    return _preparing(run, found) + run.trained * share * needed_once


def _preparing(run: Run, found: Blamed) -> float:
    """The wait for the first batch of each new pipeline, as far as its traces account for it."""
    seconds = 0.0
    for trace in found.traces:
        loop = run.loop_of(trace.fact)
        if loop is not None:
            row = int(np.searchsorted(loop.end, trace.fact.time))
            wait = float(loop.phases[row, Phase.INPUT] * loop.count[row])
            seconds += min(wait, _PREPARING * trace.seconds) * trace.weight
    return seconds
