"""What restarts cost while a TF1-style program trains: new sessions of one graph, and pipelines."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import median

import numpy as np

from unslow.analyse.run.thinned import weighted
from unslow.facts.sessions import Reopened, Restarted
from unslow.model import Location, Loop, Phase, Run


@dataclass(frozen=True)
class PipelineRestarts:
    """What starting a pipeline again costs at one line, during a loop."""

    count: int
    start: float  # seconds of a run of the initializer
    each: float  # seconds that the next update takes beyond a usual one
    seconds: float


def reopened_sessions(run: Run) -> dict[Location, list[tuple[Reopened, int]]]:
    """First runs in new sessions during training, by the line that opened them, with weights."""
    found: dict[Location, list[tuple[Reopened, int]]] = defaultdict(list)
    for first_run, weight in weighted(run.facts(Reopened)):
        if first_run.stack and run.loop_of(first_run) is not None:
            found[Location(*first_run.stack[0])].append((first_run, weight))
    return found


def pipeline_restarts(run: Run, loop: Loop) -> dict[Location, PipelineRestarts]:
    """By line that runs the initializer of an iterator in a session while the loop trains."""
    places: dict[Location, list[tuple[Restarted, int]]] = defaultdict(list)
    for restart, weight in weighted(run.facts(Restarted)):
        if restart.stack and loop.holds(restart):
            places[Location(*restart.stack[0])].append((restart, weight))
    usual = float(np.median(loop.phases[:, Phase.RUN])) if places else 0.0
    found = {}
    for where, restarts in places.items():
        count = sum(weight for _, weight in restarts)
        seconds = sum(max(0.0, restart.took - usual) * weight for restart, weight in restarts)
        start = median(restart.start for restart, _ in restarts)
        found[where] = PipelineRestarts(count, start, seconds / count, seconds)
    return found
