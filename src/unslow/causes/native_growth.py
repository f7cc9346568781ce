"""The process grows, and nothing that Python knows of does."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from unslow.analyse import wording as say
from unslow.analyse.host.machine import during, process_of
from unslow.analyse.input.pipeline import endless_cache
from unslow.analyse.memory.created_objects import made_lines
from unslow.analyse.memory.process_memory import Rise, held, limit, rise, tensors_held, used
from unslow.analyse.sketches.pipelines import stack_at
from unslow.analyse.sketches.sketch import Fact, Placed, Sketch, at, fact
from unslow.cause import CannotJudge, Cause
from unslow.facts.data import BuiltStage, Dataset
from unslow.facts.functions import Trace
from unslow.facts.profiler import ProfilerSwitch
from unslow.facts.sessions import GraphGrew
from unslow.model import Certainty, Evidence, Finding, Forecast, Location, Loop, Run

_LEAST = 48 << 20  # bytes gained after the warm-up
_SMALL = 512.0  # bytes: what Python's own allocator gives at most, and so what one of its blocks may hold
_HELD = 0.3  # of the growth, in Python's blocks or in tensors that Python holds: then it is not below Python
_FRAGMENTED = 0.5  # of the growth, in memory that the allocator keeps and nobody uses
_TRACES = 3


class NativeGrowth(Cause):
    """
    What happens

    The memory of the process climbs with the steps, but the number of Python objects, the user's containers and the
    graphs stay as they are: something below Python keeps what it gets.

    Why it is slow

    Nothing is slow until the memory is full; then the machine swaps or the process is killed.

    The fix

    Look for what lives in TensorFlow's runtime and is filled in every step: queues, hash tables, staging areas,
    caches, summary writers that are never flushed. A `cache()` of tf.data belongs in front of `repeat()`: behind it the
    data never end, every element is kept, and none is read again. Where the growth is slack of the allocator, the
    report says so: then compare a run with `MALLOC_ARENA_MAX=2` in its environment with one without.

    When we are wrong

    The others are excluded first, and the report says which. A cache of tf.data that is still being filled looks
    the same, so nothing is said where the program has one that can be full.
    """

    title = "memory grows below Python"
    needs = ("memory", "live")
    reads = (Dataset, ProfilerSwitch, Trace, GraphGrew)

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            cache = endless_cache(run, loop.process)
            if cache is not None:
                yield from self._cached(run, loop, cache)
                continue
            growth = rise(run, loop, "rss")
            if growth is not None and growth.lasting and growth.gained >= _LEAST:
                yield from self._judge(run, loop, growth)

    def _judge(self, run: Run, loop: Loop, growth: Rise) -> Iterable[Finding]:
        blocks, tensors = rise(run, loop, "blocks"), tensors_held(run, loop)
        if blocks is None or tensors is None:
            raise CannotJudge("the process grew, but what Python holds was not counted")
        if max(blocks.per_step * _SMALL, tensors) > _HELD * growth.per_step or _known(run, loop):
            return  # another cause says what it is
        slack = rise(run, loop, "heap_slack")
        loose = slack.gained / growth.gained if slack is not None else 0.0
        how, advice = _below_python(loose)
        yield Finding(
            cause=self.id,
            location=None,
            seconds=0.0,
            grows=True,
            certainty=Certainty.LIKELY,
            title=f"the process grows by {say.size(1000 * growth.per_step)} per 1,000 steps, and {how}",
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

    def _cached(self, run: Run, loop: Loop, where: Location) -> Iterable[Finding]:
        """A cache that is never full: what it is sure to keep needs no long series of readings."""
        (_, sizes), (_, steps) = (
            during(process_of(run, loop), loop, name) for name in ("rss", "steps")
        )
        half = len(sizes) // 2
        if half < 2 or len(steps) != len(sizes) or steps[-1] <= steps[half]:
            return
        gained = float(sizes[-1] - sizes[half])
        per_step = gained / float(steps[-1] - steps[half])
        if gained >= _LEAST / 2:
            yield Finding(
                cause=self.id,
                location=where,
                seconds=0.0,
                grows=True,
                title=f"the process grows by {say.size(1000 * per_step)} per 1,000 steps: {say.code(where)} keeps all "
                "elements of data that never end",
                evidence=(
                    Evidence("gained in the second half", gained, "bytes"),
                    Evidence("per step", per_step, "bytes"),
                    Evidence("elements below the cache", "without end, as behind a repeat()"),
                ),
                forecast=_forecast(run, loop, per_step),
                advice=_CACHE_FIRST,
            )


def _forecast(run: Run, loop: Loop, per_step: float) -> Forecast:
    process = process_of(run, loop)
    left = limit(process) * (1 - used(process, loop))
    return Forecast(
        step=10 * loop.steps,
        bytes=10 * per_step * loop.steps,
        text=f"the memory is full after {int(left / per_step):,} more steps" if left else "",
    )


def _known(run: Run, loop: Loop) -> bool:
    """Whether something that has a cause of its own grew in the loop."""
    late = loop.start + (loop.stop - loop.start) / 3
    grown = [look for look in run.facts(GraphGrew) if look.new]
    traces = sum(loop.holds(trace) and trace.time > late for trace in run.facts(Trace))
    graphs = sum(loop.holds(look) and look.time > late for look in grown)
    profiled = any(fact.on for fact in run.facts(ProfilerSwitch))
    stages = [stage for fact in run.facts(Dataset) for stage in fact.stages]
    cached = any("Cache" in stage.kind for stage in stages)
    hoards = (
        any(size > _LEAST / 2 for _, size in held(run, loop)) or _variables(run, loop) > _LEAST / 2
    )
    return traces >= _TRACES or graphs >= _TRACES or profiled or cached or hoards


def _variables(run: Run, loop: Loop) -> float:
    """Bytes in variables that were made in the loop and stayed."""
    return sum(
        line.bytes * min(1.0, line.alive / line.count)
        for line in made_lines(run, loop)
        if line.count
    )


_CACHE_FIRST = "Put `cache()` in front of `repeat()`, and of `shuffle()`: then one pass is kept, and later ones are read from it."


def _below_python(loose: float) -> tuple[str, str]:
    """What else can be said of the growth, and what to do."""
    if loose >= _FRAGMENTED:
        return "the allocator keeps most of it unused", (
            "Most of the growth is memory that the allocator keeps and nobody uses. Compare a run with "
            "`MALLOC_ARENA_MAX=2` in its environment: if its memory stays flat, that is the remedy."
        )
    return "no Python object does", (
        "Look for what is filled in every step inside TensorFlow: a queue, a hash table, a staging area, a writer "
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


def _live(each: float) -> list[Fact]:
    """Counts of the tensors that Python holds, `each` bytes more for every step."""
    return [
        fact("live", at, step=at, tensors=at, bytes=each * at, rss=6e8) for at in (300, 600, 1100)
    ]


def _cache(length: int) -> Placed:
    stage = BuiltStage(kind="Cache", stack=stack_at(6), length=length)
    return at(0, Dataset(dataset=1, stages=(stage,)))


_LONG = [0.01] * 1200
NativeGrowth.FIRES = (
    Sketch(
        "a queue inside TensorFlow that is never emptied",
        _LONG,
        ticks=_ticks(4e8),
        facts=_live(0.0),
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
