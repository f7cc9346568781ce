"""What restarts cost while a TF1-style program trains: new sessions of one graph, and pipelines."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from unslow.analyse.grouping import grouped
from unslow.analyse.places import by_users
from unslow.analyse.run.thinned import weighted
from unslow.analyse.stats.robust import median_of
from unslow.facts.sessions import Reopened, Restarted
from unslow.model import Location, Loop, Phase, Run


@dataclass(frozen=True)
class PipelineRestarts:
    """What starting a pipeline again costs at one line, during a loop."""

    count: int
    start: float  # seconds of a run of the initializer
    each: float  # seconds that the next update takes beyond a usual one
    seconds: float


Reopenings = list[tuple[Reopened, int]]  # with the number that each stands for


def reopened_sessions(run: Run) -> dict[Location, Reopenings]:
    """First runs in new sessions during training, by the line that opened them."""
    first_runs = weighted(by_users(run.facts(Reopened)))
    training = [(one, weight) for one, weight in first_runs if run.loop_of(one) is not None]
    return grouped(training, lambda pair: Location(*pair[0].stack[0]))


def pipeline_restarts(run: Run, loop: Loop) -> dict[Location, PipelineRestarts]:
    """By line that runs the initializer of an iterator in a session while the loop trains."""
    seen = weighted(by_users(run.facts(Restarted)))
    in_loop = [(one, weight) for one, weight in seen if loop.holds(one)]
    by_line = grouped(in_loop, lambda pair: Location(*pair[0].stack[0]))
    usual = median_of(loop.phases[:, Phase.RUN])
    found = {}
    for where, restarts in by_line.items():
        count = sum(weight for _, weight in restarts)
        seconds = sum(max(0.0, restart.took - usual) * weight for restart, weight in restarts)
        start = median(restart.start for restart, _ in restarts)
        found[where] = PipelineRestarts(count, start, seconds / count, seconds)
    return found
