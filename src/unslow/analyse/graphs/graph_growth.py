"""Session graphs that grow during a loop: the lines that add ops, and what the growth costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unslow.analyse.grouping import grouped
from unslow.analyse.host.machine import during
from unslow.analyse.places import lines_in
from unslow.analyse.sampled_time import in_steps, is_at, training_samples
from unslow.analyse.stats.growth import Law, fit_law
from unslow.analyse.stats.robust import ratio
from unslow.facts.schema import Place, Stack
from unslow.facts.sessions import GraphGrew, RunSite
from unslow.model import Loop, Phase, Run, Sample

# At one line. A judgement: fewer may be a graph built in stages, or a rare evaluation.
_FEWEST_GROWTHS = 4
_DISPATCH = 2e-4  # seconds of Python in any run of a session; an order of magnitude


@dataclass(frozen=True)
class GraphGrowth:
    """How one graph grew during one loop."""

    last: GraphGrew
    grown: Sequence[GraphGrew]  # inspections that found new ops
    lines: Counter[Place]  # ops by the user's line, for lines that grew the graph repeatedly
    types: Counter[str]
    stacks: Mapping[Place, Stack]

    @property
    def nodes_before(self) -> int:
        return self.grown[0].nodes - self.grown[0].new

    @property
    def per_step(self) -> float:
        """Ops per training step."""
        later = self.grown[1:]
        steps = sum(look.since for look in later)
        return sum(look.new for look in later) / max(1, steps)

    def step_time_law(self, loop: Loop) -> Law:
        """How the step time follows the number of nodes."""
        times = [look.time for look in self.grown]
        nodes = np.interp(loop.end, times, [float(look.nodes) for look in self.grown])
        return fit_law(loop.number[1:], loop.seconds[1:], nodes[1:])

    def seconds(self, run: Run, loop: Loop) -> float:
        """What the growth cost: longer runs of the session, and the creation of the ops."""
        running = sum(site.extended + _preparing(site) for site in self.last.runs)
        return min(loop.total, running + self._creating(run, loop))

    def _creating(self, run: Run, loop: Loop) -> float:
        """Seconds in which the lines made their ops, by stack samples."""
        mine = training_samples(run, loop.process)
        lines = lines_in(self.lines)
        making = [sample for sample in mine if _in_library(sample) and is_at(sample, lines)]
        return ratio(run.trained * in_steps(making), in_steps(mine))


def _in_library(sample: Sample) -> bool:
    return sample.phase is Phase.OTHER and sample.leaf != "python"


def graph_growths(run: Run, loop: Loop) -> Iterator[GraphGrowth]:
    """Each graph that still grew in the second half of a loop: by then, lazy parts are built."""
    later = [look for look in run.facts(GraphGrew, loop.process) if look.time >= loop.start]
    # The final count of a graph may come after the loop, and finds nothing new.
    counts = [look for look in later if look.time <= loop.stop or not look.new]
    for looks in grouped(counts, lambda look: look.graph).values():
        growth = _growth(looks)
        if growth is not None and growth.grown[-1].time > (loop.start + loop.stop) / 2:
            yield growth


def memory_per_step(run: Run, loop: Loop) -> float:
    """Bytes by which the process grows in a step; 0 if it does not clearly grow."""
    times, sizes = during(run, loop, "rss")
    if len(sizes) < _FEWEST_GROWTHS:
        return 0.0
    rate = fit_law(np.interp(times, loop.end, loop.number), sizes).rate
    return max(0.0, rate.value) if rate.low > 0 else 0.0


def _growth(looks: Sequence[GraphGrew]) -> GraphGrowth | None:
    times: Counter[Place] = Counter()
    ops: Counter[Place] = Counter()
    types: Counter[str] = Counter()
    stacks: dict[Place, Stack] = {}
    grown = [look for look in looks if look.new]
    for look in grown:
        types.update(dict(look.types))
        known = [(stack, count) for stack, count in look.lines if stack]
        for stack, count in known:
            ops[stack[0]] += count
            stacks.setdefault(stack[0], stack)
        times.update({stack[0] for stack, _ in known})
    lines = Counter({line: ops[line] for line in ops if times[line] >= _FEWEST_GROWTHS})
    return GraphGrowth(looks[-1], grown, lines, types, stacks) if lines else None


def _preparing(site: RunSite) -> float:
    """Seconds in which fetches that were never run before were prepared."""
    if site.fresh < _FEWEST_GROWTHS:
        return 0.0
    usual = site.idle + _DISPATCH
    return max(0.0, site.fresh_took / site.fresh - usual) * (site.fresh - 1)
