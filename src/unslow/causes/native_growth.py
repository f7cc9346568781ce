"""The process grows, and nothing that Python knows of does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.graphs.new_shapes import new_shapes
from unslow.analyse.input.run_pipelines import endless_cache
from unslow.analyse.memory import native_growth
from unslow.analyse.memory.native_growth import (
    HeldByPython,
    filling,
    has_other_cause,
    held_by_python,
    kept_functions,
    lasting_rise,
    recreating,
)
from unslow.analyse.memory.process_memory import Rise, limit, rise, steps_until_full, used
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import CannotJudge, Cause
from unslow.facts.data import BuiltStage, Dataset
from unslow.facts.functions import Trace
from unslow.facts.memory import Batch, Captured, Inventory, Live
from unslow.facts.schema import Place
from unslow.model import Certainty, Evidence, Finding, Forecast, Location, Loop, Run

_HELD_BY_PYTHON = 0.3  # of the growth, in Python's blocks or tensors: then it is not below Python
_FRAGMENTED = 0.5  # of the growth, in memory that the allocator keeps and nothing uses
_MANY_SHAPES = 30  # kernels keep what they prepare for each of them


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
    reads = (*native_growth.READS, Batch)
    deeper_than = ("retracing",)  # of a pipeline that is recreated, and kept

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            kept = kept_functions(run, loop)
            cache = endless_cache(run, loop.process)
            if kept is not None:
                yield self._kept_functions(run, loop, *kept)
            elif cache is not None:
                yield from self._cached(run, loop, cache)
            else:
                yield from self._judge(run, loop)

    def _judge(self, run: Run, loop: Loop) -> Iterable[Finding]:
        growth = lasting_rise(run, loop)
        if growth is None:
            return
        held = held_by_python(run, loop, growth)
        if held is None:
            raise CannotJudge("the process grew, but what Python holds was not counted")
        is_below_python = held.bytes <= _HELD_BY_PYTHON * growth.per_step
        if is_below_python and not has_other_cause(run, loop):
            yield self._unnamed(run, loop, growth, held)

    def _unnamed(self, run: Run, loop: Loop, growth: Rise, held: HeldByPython) -> Finding:
        where, how, advice = None, "no Python object does", _FILLED_INSIDE
        slack = rise(run, loop, "heap_slack")
        if slack is not None and slack.gained >= _FRAGMENTED * growth.gained:
            how, advice = "the allocator keeps most of it unused", _FEWER_ARENAS
        shapes = len(new_shapes(run, loop))
        if shapes >= _MANY_SHAPES:
            where = say.place(run, loop.update)
            how, advice = f"{shapes} new shapes came in meanwhile", _FEWER_SHAPES
        rate = say.size(1000 * growth.per_step)
        return Finding(
            cause=self.id,
            location=where,
            seconds=0.0,
            grows=True,
            certainty=Certainty.LIKELY,
            title=f"the process grows by {rate} per 1,000 steps, and {how}",
            evidence=tuple(_evidence(growth, held, slack)),
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
            seconds=recreating(run, where),
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
        """A cache that is never full."""
        growth = filling(run, loop)
        if growth is None:
            return
        yield Finding(
            cause=self.id,
            location=where,
            seconds=0.0,
            grows=True,
            title=f"the process grows by {say.size(1000 * growth.per_step)} per 1,000 steps: "
            f"{say.code(where)} keeps all elements of data that never end",
            evidence=(
                Evidence("gained in the second half", growth.gained, "bytes"),
                Evidence("per step", growth.per_step, "bytes"),
                Evidence("elements below the cache", "without end, as behind a repeat()"),
            ),
            forecast=_forecast(run, loop, growth.per_step),
            advice=_CACHE_FIRST,
        )


def _evidence(growth: Rise, held: HeldByPython, slack: Rise | None) -> Iterator[Evidence]:
    yield Evidence("gained after the warm-up", growth.gained, "bytes")
    yield Evidence("Python's blocks more per step", round(held.blocks, 2))
    tensors = round(max(0.0, held.tensors))
    yield Evidence("in tensors that Python holds, per step", tensors, "bytes")
    if slack is not None:
        yield Evidence("slack of the allocator", slack.gained, "bytes")
    yield Evidence(
        "excluded", "Python objects, tensors, variables, lists, graphs, traces, profilers, caches"
    )


def _forecast(run: Run, loop: Loop, per_step: float) -> Forecast:
    left = limit(run.process_of(loop)) * (1 - used(run, loop))
    return Forecast(
        step=10 * loop.steps,
        bytes=10 * per_step * loop.steps,
        text=steps_until_full(left, per_step),
    )


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
