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
    tensors_held,
    used,
)
from unslow.analyse.sketches.pipelines import stack_at
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import CannotJudge, Cause
from unslow.facts.data import BuiltStage, Dataset
from unslow.facts.functions import Trace, UnusualCall
from unslow.facts.memory import Batch, Captured, Containers, Inventory, Live
from unslow.facts.profiler import ProfilerSwitch
from unslow.facts.schema import Place
from unslow.facts.sessions import GraphGrew
from unslow.model import Certainty, Evidence, Finding, Forecast, Location, Loop, Run

_LEAST = 48 << 20  # bytes gained after the warm-up
_SMALL = 512.0  # bytes: the largest block of Python's own allocator
_HELD = 0.3  # of the growth, in Python's blocks or tensors: then it is not below Python
_FRAGMENTED = 0.5  # of the growth, in memory that the allocator keeps and nobody uses
_TRACES = 3
_MANY_SHAPES = 30  # kernels keep what they prepare for each of them
_AGAIN = 3  # functions of one place: fewer are the pipelines for training and validation


class NativeGrowth(Cause):
    """
    What happens
    The memory of the process climbs with the steps, but the number of Python objects, the
    user's containers and the graphs stay as they are: something below Python keeps what it
    gets.

    Why it is slow
    Nothing is slow until the memory is full; then the machine swaps or the process is killed.

    The fix
    Look for what lives in TensorFlow's runtime and is filled in every step: queues, hash
    tables, staging areas, caches, summary writers that are never flushed. A pipeline over
    `from_generator`, `py_function` or `numpy_function` that is made in every epoch is kept for
    good, with all that its function closes over. A `cache()` of tf.data belongs in front of
    `repeat()`: behind it the data never end, every element is kept, and none is read again.
    Where the growth is slack of the allocator, the report says so: then compare a run with
    `MALLOC_ARENA_MAX=2` in its environment with one without.

    When we are wrong
    The others are excluded first, and the report says which. A cache of tf.data that is still
    being filled looks the same, so nothing is said where the program has one that can be full.
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
        if growth is None or not growth.lasting or growth.gained < _LEAST:
            return
        blocks, tensors = rise(run, loop, "blocks"), tensors_held(run, loop)
        is_weak = counted_once(run, loop) and not growth.steady
        if blocks is None or tensors is None or is_weak:
            raise CannotJudge("the process grew, but what Python holds was not counted")
        in_python = max(blocks.per_step * _SMALL, tensors)
        if in_python > _HELD * growth.per_step or _known(run, loop):
            return  # another cause says what it is
        slack = rise(run, loop, "heap_slack")
        loose = slack.gained / growth.gained if slack is not None else 0.0
        how, advice = _below_python(loose)
        rate = say.size(1000 * growth.per_step)
        shapes = len(new_shapes(run, loop))
        brings_shapes = shapes >= _MANY_SHAPES
        if brings_shapes:
            how, advice = f"{shapes} new shapes came in meanwhile", _FEWER_SHAPES
        yield Finding(
            cause=self.id,
            location=say.place(run, loop.update) if brings_shapes else None,
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
                *([Evidence("slack of the allocator", slack.gained, "bytes")] if slack else []),
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
            title=f"TensorFlow keeps every function made at {say.code(where)} for a pipeline, "
            f"and the "
            f"{say.size(each)} of arrays it closes over: {say.size(kept.bytes)} by step {step:,}",
            evidence=(
                Evidence("functions kept for pipelines", kept.functions),
                Evidence("arrays that they close over", kept.bytes, "bytes"),
                Evidence("at step", step),
            ),
            forecast=_forecast(run, loop, kept.bytes / max(1, step)),
            advice="Make the pipeline once, outside of the loop, and let its function read what "
            "changes from one "
            "object that stays; or use `from_tensor_slices`, whose data is freed.",
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
        if gained < _LEAST / 2:
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
    """Seconds of making the pipelines again that keep a function: their traces, and what
    follows."""
    pipelines = [each for each in blamed(run, traces(run)) if each.reason == "pipeline"]
    mine = [
        each
        for each in pipelines
        for caller in [each.traces[0].caller]
        if caller is not None and caller.file == where.file
    ]
    return sum(
        sum(cost(trace, 0.0) * trace.weight for trace in each.traces) + rebuilding(run, each)
        for each in mine
    )


def _captured(run: Run, loop: Loop) -> tuple[Captured, int] | None:
    """The place whose functions hold most, and the step of the last inventory in a loop."""
    taken = [each for each in run.facts(Inventory) if loop.holds(each)]
    if not taken:
        return None
    kept = taken[-1].captured
    several = [each for each in kept if each.functions >= _AGAIN and each.bytes >= _LEAST]
    largest = max(several, key=lambda each: each.bytes, default=None)
    return (largest, taken[-1].step) if largest is not None else None


def _forecast(run: Run, loop: Loop, per_step: float) -> Forecast:
    process = process_of(run, loop)
    left = limit(process) * (1 - used(process, loop))
    return Forecast(
        step=10 * loop.steps,
        bytes=10 * per_step * loop.steps,
        text=f"out of memory in about {int(left / per_step):,} steps" if left else "",
    )


def _known(run: Run, loop: Loop) -> bool:
    """Whether something that has a cause of its own grew in the loop."""
    profiled = any(fact.on for fact in run.facts(ProfilerSwitch))
    stages = [stage for fact in run.facts(Dataset) for stage in fact.stages]
    cached = any("Cache" in stage.kind for stage in stages)
    held = any(each.bytes > _LEAST / 2 for each in largest_containers(run, loop))
    variables = sum(line.bytes_kept for line in made_lines(run, loop)) > _LEAST / 2
    return _keeps_tracing(run, loop) or profiled or cached or held or variables


def _keeps_tracing(run: Run, loop: Loop) -> bool:
    """Whether functions are traced, or graphs grow, after the first third of a loop."""
    late = loop.start + (loop.stop - loop.start) / 3
    grown = [look for look in run.facts(GraphGrew) if look.new]
    traces = sum(loop.holds(trace) and trace.time > late for trace in run.facts(Trace))
    graphs = sum(loop.holds(look) and look.time > late for look in grown)
    return traces >= _TRACES or graphs >= _TRACES


_FEWER_SHAPES = (
    "Kernels keep what they prepare for each shape. Pad the batches to a few lengths, or to a "
    "multiple of 16 or 64, and mask what was added."
)
_CACHE_FIRST = (
    "Put `cache()` in front of `repeat()`, and of `shuffle()`: then one pass is kept, and later "
    "ones are read from it."
)


def _below_python(loose: float) -> tuple[str, str]:
    """What else can be said of the growth, and what to do."""
    if loose >= _FRAGMENTED:
        return "the allocator keeps most of it unused", (
            "Most of the growth is memory that the allocator keeps and nobody uses. Compare a "
            "run with "
            "`MALLOC_ARENA_MAX=2` in its environment: if its memory stays flat, that is the remedy."
        )
    return "no Python object does", (
        "Look for what is filled in every step inside TensorFlow: a queue, a hash table, a "
        "staging area, a writer "
        "that is never flushed."
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


_LONG = [0.01] * 1200
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
        "a few jumps, as larger batches make them, and tensors counted once",
        _LONG,
        ticks={**_ticks(0.0), "rss": [6e8 + 5e7 * (tick // 12) for tick in range(48)]},
        facts=_live(0.1)[1:2],
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
        "graphs that are traced again and again",
        _LONG,
        ticks=_ticks(4e8),
        facts=[
            *_live(0.0),
            *(at(step, Trace(name="f", step=step)) for step in range(100, 1200, 100)),
        ],
    ),
)
