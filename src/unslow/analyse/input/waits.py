"""How long the steps of a loop wait for data, which stage holds them up, and what another one would leave."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from unslow.analyse.graphs.unusual_calls import Call, unusual_calls
from unslow.analyse.input.pipeline import Pipeline, Stage, pipelines, slowest, without
from unslow.model import Loop, Phase, Run

# A fetch in Python of a batch that lies ready takes this long on 2.21; only used where the model was not asked.
_FETCH = 1e-4
_FETCH_MOST = 1e-3  # and no longer than this on a busy machine
_PREPARES = {"first", "reset", "shapes"}  # why a call of a compiled function is not like the others
_ENOUGH = 4  # batches over which a wait must have been measured


@dataclass(frozen=True)
class Wait:
    """The wait for data of one loop, per step and in seconds; the first step is left out."""

    loop: Loop
    pipeline: (
        Pipeline | None
    )  # the one that is waited for longest; None where only Python's fetches were seen
    per_step: float
    step: float  # mean seconds of a step, the first one left out
    starts: float  # of the wait: for the first batches of iterators
    compiled: bool  # the wait is inside of compiled steps, told by the iterator's own model
    steps: int

    @property
    def seconds(self) -> float:
        return self.per_step * self.steps

    @property
    def share(self) -> float:
        return self.per_step / self.step if self.step > 0 else 0.0

    @property
    def rest(self) -> float:
        """Seconds of a step that are not waiting."""
        return max(0.0, self.step - self.per_step)


def waits(run: Run) -> list[Wait]:
    """One for each loop that fetched data through tf.data."""
    known = [one for one in pipelines(run) if not one.evaluates and one.per_step > 0]
    calls = [call for call in unusual_calls(run) if _PREPARES.intersection(call.fact.why)]
    return [
        wait
        for loop in run.loops
        for wait in _wait(loop, [one for one in known if _feeds(one, loop)], _rows_of(calls, loop))
    ]


def _rows_of(calls: Iterable[Call], loop: Loop) -> set[int]:
    return {
        int(np.searchsorted(loop.end, call.fact.time))
        for call in calls
        if call.fact.process == loop.process
    }


def _feeds(pipeline: Pipeline, loop: Loop) -> bool:
    shared = min(pipeline.span[1], loop.stop) - max(pipeline.span[0], loop.start)
    return pipeline.process == loop.process and shared > 0


def _wait(loop: Loop, feeding: list[Pipeline], prepared: set[int]) -> Iterable[Wait]:
    first = _first_row(loop, feeding)
    count = loop.count[first:]
    steps = int(count.sum())
    if steps < 1:
        return
    table = loop.phases[first:] * count[:, None]
    step = float((loop.seconds[first:] * count).sum()) / steps
    fetching = float(table[:, Phase.INPUT].sum()) / steps
    running = float(table[:, Phase.RUN].sum()) / steps
    if not feeding and not fetching:
        return
    inside = [
        one
        for one in feeding
        if not one.in_python and one.over >= _ENOUGH and math.isfinite(_each(one))
    ]
    inside = inside or [one for one in feeding if not one.in_python and math.isfinite(one.wait)]
    hidden = sum(_each(one) * one.per_step for one in inside)
    starts = {one.in_python: _starts(loop, one, first, prepared) / steps for one in feeding}
    hidden += starts.get(False, 0.0)
    hidden = min(hidden, running)
    overhead = [_overhead(one) * one.per_step for one in feeding if one.in_python] or [_FETCH]
    visible = max(0.0, fetching - sum(overhead))
    compiled = hidden > visible
    candidates = inside if compiled else [one for one in feeding if one.in_python]
    longest = max(candidates, key=lambda one: _each(one) * one.per_step, default=None)
    known = calibrated(longest, step) if longest and not longest.opaque else None
    yield Wait(
        loop=loop,
        pipeline=known,
        per_step=hidden + visible,
        step=step,
        starts=starts.get(not compiled, 0.0),
        compiled=compiled,
        steps=steps,
    )


def _starts(loop: Loop, pipeline: Pipeline, first: int, prepared: set[int]) -> float:
    """Seconds in steps that came right after a new iterator, above what such steps usually take.

    The first batch of an iterator waits for buffers to fill, which its model's gaps do not show.
    """
    running = loop.phases[:, Phase.INPUT if pipeline.in_python else Phase.RUN]
    rows = {int(np.searchsorted(loop.end, time)) for time in pipeline.made}
    usual = float(np.median(running[first:]))
    # A step that also traces, or comes after a reset, prepares a graph while it runs: that is no wait.
    traces = loop.phases[:, Phase.TRACE] > 0
    rows = {row for row in rows - prepared if first <= row < len(running) and not traces[row]}
    return sum(max(0.0, float(running[row]) - usual) for row in rows)


def _first_row(loop: Loop, feeding: list[Pipeline]) -> int:
    """The first step pays for the start; while a cache is being filled, the whole first pass does."""
    skipped = max((one.filling / one.per_step for one in feeding), default=0.0)
    return max(1, int(np.searchsorted(loop.number, skipped, side="right")))


def _each(pipeline: Pipeline) -> float:
    """Seconds of wait per batch."""
    if pipeline.filling:
        return pipeline.later
    return pipeline.wait if math.isfinite(pipeline.wait) else pipeline.fetch


def calibrated(pipeline: Pipeline, step: float) -> Pipeline:
    """The stages with no more work than the run shows: times of ops are counted also where they only queued."""
    seconds, _ = slowest(pipeline.stages)
    most = step / pipeline.per_step
    if seconds <= most:
        return pipeline
    stages = tuple(replace(stage, busy=stage.busy * most / seconds) for stage in pipeline.stages)
    return replace(pipeline, stages=stages)


def _overhead(pipeline: Pipeline) -> float:
    """What a fetch in Python costs beside the wait itself."""
    if pipeline.over < _ENOUGH or not math.isfinite(pipeline.wait):
        return _FETCH
    return min(
        max(0.0, pipeline.fetch - pipeline.wait), _FETCH_MOST
    )  # the rest are first batches, which wait longest


# What would be left


def processor(run: Run, loop: Loop) -> float:
    """Processor seconds of the whole process per step, the first step left out; NaN where it was not read."""
    ticks = next((one.ticks for one in run.processes if one.index == loop.process), None)
    steps = loop.steps - int(loop.count[0])
    if ticks is None or len(ticks.time) < 2 or steps < 1 or "user_cpu" not in ticks.columns:
        return math.nan
    spent = ticks.columns["user_cpu"] + ticks.columns["system_cpu"]
    first, last = float(loop.end[0]), loop.stop
    if last - first < 0.5:  # the counters are read a few times a second
        return math.nan
    return float(np.interp(last, ticks.time, spent) - np.interp(first, ticks.time, spent)) / steps


def buffered_ahead(stages: tuple[Stage, ...]) -> bool:
    """Whether batches are made while a step runs: the stage on top works in threads of its own."""
    return bool(stages) and stages[0].asynchronous


def step_with(wait: Wait, stages: tuple[Stage, ...], busy: float, cores: int) -> float:
    """Seconds of a step with other stages: the slowest of step, stages and processors sets the pace."""
    per_batch, _ = slowest(stages)
    needed = per_batch * (wait.pipeline.per_step if wait.pipeline else 1.0)
    floor = busy / cores if cores and math.isfinite(busy) else 0.0
    if buffered_ahead(stages):
        return max(wait.rest, needed, floor)
    return max(wait.rest + sum(stage.seconds for stage in stages), floor)


def limits_next(wait: Wait, stage: Stage) -> tuple[float, str]:
    """What a step would take if a stage were free, and what would set the pace then."""
    assert wait.pipeline is not None
    seconds, stages = slowest(without(wait.pipeline.stages, stage))
    seconds *= wait.pipeline.per_step
    if not stages or seconds <= wait.rest:
        return wait.rest, "the step itself"
    place = f" at {stages[0].location}" if stages[0].location else ""
    return seconds, f"{stages[0].name}{place}"
