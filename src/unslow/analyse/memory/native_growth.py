"""Memory that a process gains for good, and what is known to explain it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unslow.analyse.graphs.retrace_reasons import blamed
from unslow.analyse.graphs.traces import READS as TRACE_READS
from unslow.analyse.graphs.traces import cost, traces
from unslow.analyse.host.machine import during
from unslow.analyse.input.dataset_variants import built_stages
from unslow.analyse.input.pipeline_rebuilds import rebuilding
from unslow.analyse.memory.created_objects import READS as MADE_READS
from unslow.analyse.memory.created_objects import made_lines
from unslow.analyse.memory.process_memory import (
    Rise,
    counted_once,
    largest_containers,
    rise,
    tensors_held,
)
from unslow.facts.data import Dataset
from unslow.facts.functions import Trace
from unslow.facts.memory import Captured, Containers, Inventory, Live
from unslow.facts.profiler import ProfilerSwitch
from unslow.facts.sessions import GraphGrew
from unslow.model import Location, Loop, Run

READS = (
    *MADE_READS,
    *TRACE_READS,
    Live,
    Containers,
    Inventory,
    Dataset,
    ProfilerSwitch,
    GraphGrew,
)

_LEAST_GAINED = 48 << 20  # bytes after the warm-up; a judgement: less may be anything
_LARGEST_BLOCK = 512.0  # bytes, of Python's own allocator
# Of the steps, between two readings: a rise is compared over parts of a quarter and a third of
# them, and a part without a reading of its own says nothing of a trend.
_UNREAD = 0.25
_MANY_TRACES = 3  # late in a loop: functions are still being traced, or graphs still grow
_SEVERAL_FUNCTIONS = 3  # of one place: fewer are the pipelines for training and validation


@dataclass(frozen=True)
class HeldByPython:
    """What Python gained per step."""

    blocks: float  # of its allocator
    tensors: float  # bytes in tensors that it holds

    @property
    def bytes(self) -> float:
        return max(self.blocks * _LARGEST_BLOCK, self.tensors)


@dataclass(frozen=True)
class Filling:
    """Bytes that a process gained in the later half of its readings."""

    gained: float
    per_step: float


def lasting_rise(run: Run, loop: Loop) -> Rise | None:
    """What a process gained for good, where its memory was read all along the steps."""
    growth = rise(run, loop, "rss")
    if growth is None or not growth.lasting or growth.gained < _LEAST_GAINED:
        return None
    return growth if _most_unread(run, loop) <= _UNREAD else None


def _most_unread(run: Run, loop: Loop) -> float:
    """The largest share of the steps between two readings, or after the last one.

    Memory is read by the clock. Where the first steps took nearly all of the time (XLA compiled in
    each of them), what the process gained meanwhile was not gained per step.
    """
    times, _ = during(run, loop, "rss")
    seen = [loop.step_at(float(time)) for time in times]
    gaps = np.diff([*seen, loop.steps])
    return float(gaps.max()) / max(1, loop.steps) if len(gaps) else 1.0


def held_by_python(run: Run, loop: Loop, growth: Rise) -> HeldByPython | None:
    """None where it was not counted, or only once while the process grew in a few jumps."""
    blocks, tensors = rise(run, loop, "blocks"), tensors_held(run, loop)
    is_weak = counted_once(run, loop) and not growth.steady
    if blocks is None or tensors is None or is_weak:
        return None
    return HeldByPython(blocks.per_step, tensors)


def has_other_cause(run: Run, loop: Loop) -> bool:
    """Whether something that has a cause of its own grew in the loop."""
    containers = max((each.bytes for each in largest_containers(run, loop)), default=0.0)
    variables = sum(line.bytes_kept for line in made_lines(run, loop))
    grown = (
        _keeps_tracing(run, loop),
        any(fact.on for fact in run.facts(ProfilerSwitch)),
        any("Cache" in stage.kind for stage in built_stages(run)),
        max(containers, variables) > _LEAST_GAINED / 2,
    )
    return any(grown)


def _keeps_tracing(run: Run, loop: Loop) -> bool:
    """Whether functions are traced, or graphs grow, after the first third of a loop."""
    late = loop.start + (loop.stop - loop.start) / 3
    grown = [graph for graph in run.facts_during(loop, GraphGrew) if graph.new]
    traced = run.facts_during(loop, Trace)
    most = max(sum(fact.time > late for fact in facts) for facts in (grown, traced))
    return most >= _MANY_TRACES


def filling(run: Run, loop: Loop) -> Filling | None:
    """What a cache that is never full is sure to keep: it needs no long series of readings."""
    _, sizes = during(run, loop, "rss")
    _, steps = during(run, loop, "steps")
    half = len(sizes) // 2
    if half < 2 or len(steps) != len(sizes) or steps[-1] <= steps[half]:
        return None
    gained = float(sizes[-1] - sizes[half])
    per_step = gained / float(steps[-1] - steps[half])
    return Filling(gained, per_step) if gained >= _LEAST_GAINED / 2 else None


def kept_functions(run: Run, loop: Loop) -> tuple[Captured, int] | None:
    """The place whose functions hold most, and the step of the last inventory in a loop."""
    taken = run.facts_during(loop, Inventory)
    if not taken:
        return None
    several = [kept for kept in taken[-1].captured if kept.functions >= _SEVERAL_FUNCTIONS]
    largest = max(several, key=lambda kept: kept.bytes, default=None)
    if largest is None or largest.bytes < _LEAST_GAINED:
        return None
    return largest, taken[-1].step


def recreating(run: Run, where: Location) -> float:
    """Seconds of recreating the pipelines that keep a function: their traces, and what follows."""
    seconds = 0.0
    for found in blamed(run, traces(run)):
        caller = found.traces[0].caller
        is_mine = caller is not None and caller.file == where.file
        if is_mine and found.reason == "pipeline":
            seconds += sum(cost(trace, 0.0) * trace.weight for trace in found.traces)
            seconds += rebuilding(run, found)
    return seconds
