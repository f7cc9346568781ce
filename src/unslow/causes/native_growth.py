"""The process grows, and nothing that Python knows of does."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.graphs.new_shapes import new_shapes
from unslow.analyse.graphs.retrace_reasons import blamed
from unslow.analyse.graphs.traces import READS as TRACE_READS
from unslow.analyse.graphs.traces import cost, traces
from unslow.analyse.host.machine import during, process_of
from unslow.analyse.input.pipeline import endless_cache
from unslow.analyse.input.pipeline_rebuilds import rebuilding
from unslow.analyse.memory.created_objects import READS as MADE_READS
from unslow.analyse.memory.created_objects import made_lines
from unslow.analyse.memory.process_memory import (
    counted_once,
    largest_containers,
    limit,
    rise,
    steps_until_full,
    tensors_held,
    used,
)
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import CannotJudge, Cause
from unslow.facts.data import BuiltStage, Dataset
from unslow.facts.functions import Trace, UnusualCall
from unslow.facts.memory import Batch, Captured, Containers, Inventory, Live
from unslow.facts.profiler import ProfilerSwitch
from unslow.facts.schema import Place
from unslow.facts.sessions import GraphGrew
from unslow.model import Certainty, Evidence, Finding, Forecast, Location, Loop, Run

_LEAST_GAINED = 48 << 20  # bytes after the warm-up; a judgement: less may be anything
_LARGEST_BLOCK = 512.0  # bytes, of Python's own allocator
_HELD_BY_PYTHON = 0.3  # of the growth, in Python's blocks or tensors: then it is not below Python
_FRAGMENTED = 0.5  # of the growth, in memory that the allocator keeps and nothing uses
# Of the steps, between two readings: a rise is compared over parts of a quarter and a third of
# them, and a part without a reading of its own says nothing of a trend.
_UNREAD = 0.25
_MANY_TRACES = 3  # late in a loop: functions are still being traced, or graphs still grow
_MANY_SHAPES = 30  # kernels keep what they prepare for each of them
_SEVERAL_FUNCTIONS = 3  # of one place: fewer are the pipelines for training and validation


class NativeGrowth(Cause):
    """
    What happens
    The memory of the process climbs with the steps, but the number of Python objects, the
    user's containers and the graphs stay the same: something below Python keeps what it gets.

    Why it is slow
    Nothing is slow until memory is full; then the machine swaps or the process is killed.

    The fix
    Look for what lives in TensorFlow's runtime and is filled in every step: queues, hash
    tables, staging areas, caches, summary writers that are never flushed. A pipeline over
    `from_generator`, `py_function` or `numpy_function` that is made in every epoch is never
    freed, nor is what its function closes over. Put a tf.data `cache()` before `repeat()`: after
    it the data never end, every element is kept, and none is read again. Where the growth is
    slack of the allocator, the report says so: then compare a run with `MALLOC_ARENA_MAX=2` in
    its environment with one without.

    When we are wrong
    Other reasons for growth are excluded first, and the report lists them. A tf.data cache that
    is still being filled looks the same, so a program that has one is not reported.
    """

    title = "memory grows below Python"
    reads = (
        Live,
        Containers,
        Inventory,
        Batch,
        UnusualCall,
        Dataset,
        ProfilerSwitch,
        Trace,
        GraphGrew,
        *MADE_READS,
        *TRACE_READS,
    )
    deeper_than = ("retracing",)  # of a pipeline that is recreated, and kept

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            captured = _captured(run, loop)
            cache = endless_cache(run, loop.process)
            if captured is not None:
                yield self._kept_functions(run, loop, *captured)
            elif cache is not None:
                yield from self._cached(run, loop, cache)
            else:
                yield from self._judge(run, loop)

    def _judge(self, run: Run, loop: Loop) -> Iterable[Finding]:
        growth = rise(run, loop, "rss")
        if growth is None or not growth.lasting or growth.gained < _LEAST_GAINED:
            return
        if _most_unread(run, loop) > _UNREAD:
            return
        blocks, tensors = rise(run, loop, "blocks"), tensors_held(run, loop)
        is_weak = counted_once(run, loop) and not growth.steady
        if blocks is None or tensors is None or is_weak:
            raise CannotJudge("the process grew, but what Python holds was not counted")
        in_python = max(blocks.per_step * _LARGEST_BLOCK, tensors)
        if in_python > _HELD_BY_PYTHON * growth.per_step or _has_other_cause(run, loop):
            return
        slack = rise(run, loop, "heap_slack")
        unused = slack.gained if slack is not None else 0.0
        shapes = len(new_shapes(run, loop))
        where, how, advice = None, "no Python object does", _FILLED_INSIDE
        if unused >= _FRAGMENTED * growth.gained:
            how, advice = "the allocator keeps most of it unused", _FEWER_ARENAS
        if shapes >= _MANY_SHAPES:
            where = say.place(run, loop.update)
            how, advice = f"{shapes} new shapes came in meanwhile", _FEWER_SHAPES
        rate = say.size(1000 * growth.per_step)
        yield Finding(
            cause=self.id,
            location=where,
            seconds=0.0,
            grows=True,
            certainty=Certainty.LIKELY,
            title=f"the process grows by {rate} per 1,000 steps, and {how}",
            evidence=(
                Evidence("gained after the warm-up", growth.gained, "bytes"),
                Evidence("Python's blocks more per step", round(blocks.per_step, 2)),
                Evidence(
                    "in tensors that Python holds, per step", round(max(0.0, tensors)), "bytes"
                ),
                *([Evidence("slack of the allocator", unused, "bytes")] if slack else []),
                Evidence(
                    "excluded",
                    "Python objects, tensors, variables, lists, graphs, traces, profilers, caches",
                ),
            ),
            forecast=_forecast(run, loop, growth.per_step),
            advice=advice,
        )

    def _kept_functions(self, run: Run, loop: Loop, kept: Captured, step: int) -> Finding:
        """Functions given to pipelines, which TensorFlow never drops, with what they close over."""
        where = say.place(run, kept.place)
        each = kept.bytes / kept.functions
        return Finding(
            cause=self.id,
            location=where,
            seconds=_recreating(run, where),
            grows=True,
            title=f"TensorFlow keeps every function made at {say.code(where)} for a pipeline, and "
            f"the {say.size(each)} of arrays it closes over: {say.size(kept.bytes)} by step "
            f"{step:,}",
            evidence=(
                Evidence("functions kept for pipelines", kept.functions),
                Evidence("arrays that they close over", kept.bytes, "bytes"),
                Evidence("at step", step),
            ),
            forecast=_forecast(run, loop, kept.bytes / max(1, step)),
            advice="Make the pipeline once, outside of the loop, and let its function read what "
            "changes from one object that stays; or use `from_tensor_slices`, whose data is freed.",
        )

    def _cached(self, run: Run, loop: Loop, where: Location) -> Iterable[Finding]:
        """A cache that is never full: what it is sure to keep needs no long series of readings."""
        process = process_of(run, loop)
        _, sizes = during(process, loop, "rss")
        _, steps = during(process, loop, "steps")
        half = len(sizes) // 2
        if half < 2 or len(steps) != len(sizes) or steps[-1] <= steps[half]:
            return
        gained = float(sizes[-1] - sizes[half])
        per_step = gained / float(steps[-1] - steps[half])
        if gained < _LEAST_GAINED / 2:
            return
        yield Finding(
            cause=self.id,
            location=where,
            seconds=0.0,
            grows=True,
            title=f"the process grows by {say.size(1000 * per_step)} per 1,000 steps: "
            f"{say.code(where)} keeps all elements of data that never end",
            evidence=(
                Evidence("gained in the second half", gained, "bytes"),
                Evidence("per step", per_step, "bytes"),
                Evidence("elements below the cache", "without end, as behind a repeat()"),
            ),
            forecast=_forecast(run, loop, per_step),
            advice=_CACHE_FIRST,
        )


def _recreating(run: Run, where: Location) -> float:
    """Seconds of recreating the pipelines that keep a function: their traces, and what follows."""
    seconds = 0.0
    for found in blamed(run, traces(run)):
        caller = found.traces[0].caller
        is_mine = caller is not None and caller.file == where.file
        if is_mine and found.reason == "pipeline":
            seconds += sum(cost(trace, 0.0) * trace.weight for trace in found.traces)
            seconds += rebuilding(run, found)
    return seconds


def _captured(run: Run, loop: Loop) -> tuple[Captured, int] | None:
    """The place whose functions hold most, and the step of the last inventory in a loop."""
    taken = [each for each in run.facts(Inventory) if loop.holds(each)]
    if not taken:
        return None
    several = [kept for kept in taken[-1].captured if kept.functions >= _SEVERAL_FUNCTIONS]
    largest = max(several, key=lambda kept: kept.bytes, default=None)
    if largest is None or largest.bytes < _LEAST_GAINED:
        return None
    return largest, taken[-1].step


def _forecast(run: Run, loop: Loop, per_step: float) -> Forecast:
    process = process_of(run, loop)
    left = limit(process) * (1 - used(process, loop))
    return Forecast(
        step=10 * loop.steps,
        bytes=10 * per_step * loop.steps,
        text=steps_until_full(left, per_step),
    )


def _most_unread(run: Run, loop: Loop) -> float:
    """The largest share of the steps between two readings, or after the last one.

    Memory is read by the clock. Where the first steps took nearly all of the time (XLA compiled in
    each of them), what the process gained meanwhile was not gained per step.
    """
    times, _ = during(process_of(run, loop), loop, "rss")
    seen = [loop.step_at(float(time)) for time in times]
    gaps = np.diff([*seen, loop.steps])
    return float(gaps.max()) / max(1, loop.steps) if len(gaps) else 1.0


def _has_other_cause(run: Run, loop: Loop) -> bool:
    """Whether something that has a cause of its own grew in the loop."""
    stages = [stage for fact in run.facts(Dataset) for stage in fact.stages]
    containers = max((each.bytes for each in largest_containers(run, loop)), default=0.0)
    variables = sum(line.bytes_kept for line in made_lines(run, loop))
    grown = (
        _keeps_tracing(run, loop),
        any(fact.on for fact in run.facts(ProfilerSwitch)),
        any("Cache" in stage.kind for stage in stages),
        max(containers, variables) > _LEAST_GAINED / 2,
    )
    return any(grown)


def _keeps_tracing(run: Run, loop: Loop) -> bool:
    """Whether functions are traced, or graphs grow, after the first third of a loop."""
    late = loop.start + (loop.stop - loop.start) / 3
    grown = [graph for graph in run.facts(GraphGrew) if graph.new]
    graphs = sum(loop.holds(graph) and graph.time > late for graph in grown)
    traces = sum(loop.holds(trace) and trace.time > late for trace in run.facts(Trace))
    return max(traces, graphs) >= _MANY_TRACES


_FEWER_SHAPES = (
    "Kernels keep what they prepare for each shape. Pad the batches to a few lengths, or to a "
    "multiple of 16 or 64, and mask the padding."
)
_CACHE_FIRST = (
    "Put `cache()` before `repeat()` and `shuffle()`: then one pass is kept, and later passes read "
    "it."
)
_FEWER_ARENAS = (
    "Most of the growth is memory that the allocator keeps and nothing uses. Compare with a run "
    "that has `MALLOC_ARENA_MAX=2` in its environment: if its memory stays flat, that is the fix."
)
_FILLED_INSIDE = (
    "Look for what is filled in every step inside TensorFlow: a queue, a hash table, a staging "
    "area, a writer that is never flushed."
)


def _ticks(rss: float, slack: float = 0.0, curve: float = 1.0) -> dict[str, list[float]]:
    """Columns that gain so much over the run; a curve of less than 1 levels off."""
    way = np.linspace(0, 1, 48) ** curve
    return {
        "rss": list(6e8 + rss * way),
        "steps": list(np.linspace(0, 1200, 48)),
        "blocks": list(5e5 + 2400 * way),
        "heap_slack": list(1e7 + slack * way),
        "heap_used": list(3e8 + (rss - slack) * way),
    }


def _live(each: float) -> list[Placed]:
    """Counts of the tensors that Python holds, `each` bytes more for every step."""
    counted = (300, 600, 1100)
    return [at(step, Live(step=step, tensors=step, bytes=each * step)) for step in counted]


def _kept(functions: int) -> list[Placed]:
    """An inventory of functions that close over 27 MB each."""
    place = Place("train.py", 9, "batches")
    kept = Captured(place=place, functions=functions, bytes=27e6 * functions)
    return [at(1000, Inventory(step=1000, captured=(kept,)))]


def _cache(length: int) -> Placed:
    stage = BuiltStage(kind="Cache", stack=stack_at(6), length=length)
    return at(0, Dataset(dataset=1, stages=(stage,)))


def _steps_at_ticks(seconds: list[float]) -> list[float]:
    """The steps done at each of 48 readings, from a second before the loop to one after it."""
    times = np.linspace(0, 2 + sum(seconds), 48)
    return list(np.searchsorted(1 + np.cumsum(seconds), times, side="right").astype(float))


_LONG = [0.01] * 1200
_COMPILING = [5.0] * 14 + [0.02] * 70
_STAGES = [6e8 + 8e7 * (tick // 16) + 1e6 * min(tick % 16, 8) for tick in range(48)]
_ENDED = [6e8 + 2e6 * min(tick, 46) + 1.2e8 * (tick >= 46) for tick in range(48)]
_GIVEN_BACK = [7.8e8] * 20 + [7e8 + 4.5e6 * tick for tick in range(28)]
NativeGrowth.FIRES = (
    Sketch("a pipeline over a generator in every epoch", _LONG, facts=_kept(14)),
    Sketch(
        "a queue inside TensorFlow that is never emptied",
        _LONG,
        ticks=_ticks(4e8),
        facts=_live(0.0),
    ),
    Sketch(
        "tensors that were counted once, and hold little",
        _LONG,
        ticks=_ticks(4e8),
        facts=_live(0.1)[1:2],
    ),
    Sketch("a cache behind a repeat()", _LONG, ticks=_ticks(4e8), facts=[_cache(-1), *_live(0.0)]),
    Sketch(
        "an allocator that gives nothing back",
        _LONG,
        ticks=_ticks(4e8, slack=3.5e8),
        facts=_live(0.0),
    ),
)
NativeGrowth.QUIET = (
    Sketch(
        "a few long steps first, and one reading after them: no trend per step",
        _COMPILING,
        ticks={**_ticks(0.0), "rss": _ENDED, "steps": _steps_at_ticks(_COMPILING)},
        facts=[at(step, Live(step=step)) for step in (4, 8, 12)],
        after=1.0,
    ),
    Sketch(
        "a few jumps, as larger batches make them, and tensors counted once",
        _LONG,
        ticks={**_ticks(0.0), "rss": [6e8 + 5e7 * (tick // 12) for tick in range(48)]},
        facts=_live(0.1)[1:2],
    ),
    Sketch(
        "batches that become larger in three stages",
        _LONG,
        elements=[1000.0 * (1 + step // 400) for step in range(1200)],
        ticks={**_ticks(0.0), "rss": _STAGES},
        facts=_live(0.0),
    ),
    Sketch(
        "memory that rises, is given back, and rises again",
        _LONG,
        ticks={**_ticks(0.0), "rss": _GIVEN_BACK},
        facts=_live(0.0),
    ),
    Sketch("a pipeline over a generator, made twice", _LONG, facts=_kept(2)),
    Sketch(
        "an allocator that warms up and levels off",
        _LONG,
        ticks=_ticks(4e8, curve=0.08),
        facts=_live(0.0),
    ),
    Sketch(
        "a cache that is being filled",
        _LONG,
        ticks=_ticks(4e8),
        facts=[_cache(100_000), *_live(0.0)],
    ),
    Sketch("tensors that Python keeps", _LONG, ticks=_ticks(4e8), facts=_live(3e5)),
    Sketch("the same, counted once", _LONG, ticks=_ticks(4e8), facts=_live(3e5)[1:2]),
    Sketch("a few megabytes", _LONG, ticks=_ticks(2e7), facts=_live(0.0)),
    Sketch(
        "graphs that are retraced repeatedly",
        _LONG,
        ticks=_ticks(4e8),
        facts=[
            *_live(0.0),
            *(at(step, Trace(name="f", step=step)) for step in range(100, 1200, 100)),
        ],
    ),
)
