"""How long the steps of a loop wait for data, and what a step would take with other stages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse.grouping import known
from unslow.analyse.host.machine import cores_of, processor_seconds
from unslow.analyse.input import run_pipelines
from unslow.analyse.input.pipeline import Pipeline, Stage, slowest, without
from unslow.analyse.input.run_pipelines import pipelines
from unslow.analyse.stats.robust import ratio
from unslow.facts.functions import UnusualCall
from unslow.model import Loop, Phase, Run

if TYPE_CHECKING:
    from unslow.model import Floats

READS = (*run_pipelines.READS, UnusualCall)

# A fetch in Python of a batch that is ready takes 0.1 ms on 2.21, and up to 1 ms on a busy machine.
_FETCH = 1e-4
_LONGEST_FETCH = 1e-3
_PREPARES = {"first", "reset", "shapes"}  # calls that prepare a graph while they run
_FEWEST_BATCHES = 4  # over which a wait must have been measured
_SHORTEST_READ = 0.5  # seconds: the processor's counters are read a few times a second


@dataclass(frozen=True)
class Wait:
    """The wait for data of one loop, per step and in seconds; the first step is left out."""

    loop: Loop
    pipeline: Pipeline | None  # the one with the longest wait; None where only fetches were seen
    per_step: float
    step: float  # mean seconds of a step
    starts: float  # of the wait: for the first batches of iterators
    hidden: float  # of `per_step`: in compiled steps, where the iterator's model measured it
    hidden_starts: float  # of `hidden`: for the first batches of iterators
    steps: int

    @property
    def compiled(self) -> bool:
        """Whether most of the wait is inside compiled steps."""
        return self.hidden > self.per_step - self.hidden

    @property
    def seconds(self) -> float:
        return self.per_step * self.steps

    @property
    def share(self) -> float:
        return ratio(self.per_step, self.step)

    @property
    def rest(self) -> float:
        """Seconds of a step that are not waiting."""
        return max(0.0, self.step - self.per_step)


def waits(run: Run) -> list[Wait]:
    """One for each loop that fetched data through tf.data."""
    training = [one for one in pipelines(run) if not one.evaluates and one.per_step > 0]
    found = []
    for loop in run.loops:
        calls = run.facts(UnusualCall, loop.process)
        prepared = [call.time for call in calls if _PREPARES.intersection(call.why)]
        feeding = [one for one in training if _feeds(one, loop)]
        found.append(_Measured(loop, feeding, prepared).wait())
    return known(found)


def _feeds(pipeline: Pipeline, loop: Loop) -> bool:
    """Whether a pipeline was seen at work for some time while a loop ran."""
    shared = min(pipeline.span[1], loop.stop) - max(pipeline.span[0], loop.start)
    return pipeline.process == loop.process and shared > 0


class _Measured:
    """The steps of a loop and the pipelines that feed it."""

    def __init__(self, loop: Loop, feeding: Sequence[Pipeline], prepared: Iterable[float]) -> None:
        self.loop = loop
        self.feeding = feeding
        self.in_python = [one for one in feeding if one.in_python]
        self.first = _first_row(loop, feeding)
        self.steps = int(loop.count[self.first :].sum())
        # A step that also traces, or comes after a reset, prepares a graph while it runs.
        self.prepared = {int(np.searchsorted(loop.end, time)) for time in prepared}
        self.prepared.update(np.flatnonzero(loop.phases[:, Phase.TRACE] > 0).tolist())

    def wait(self) -> Wait | None:
        loop, count = self.loop, self.loop.count[self.first :]
        fetching = self._mean(self._fetching())
        if self.steps < 1 or not (self.feeding or fetching):
            return None
        compiled = self._compiled()
        starts = self._starts(in_python=False)
        hidden = sum(map(_wait_per_step, compiled)) + starts
        hidden = min(hidden, self._mean(loop.phases[:, Phase.RUN]))
        visible = self._visible(fetching)
        is_compiled = hidden > visible
        step = float((loop.seconds[self.first :] * count).sum()) / self.steps
        return Wait(
            loop=loop,
            pipeline=_longest(compiled if is_compiled else self.in_python, step),
            per_step=hidden + visible,
            step=step,
            starts=starts if is_compiled else self._starts(in_python=True),
            hidden=hidden,
            hidden_starts=min(starts, hidden),
            steps=self.steps,
        )

    def _fetching(self) -> Floats:
        """Seconds per row in fetches of Python; preparing a pipeline's functions is no wait."""
        fetching: Floats = self.loop.phases[:, Phase.INPUT].copy()
        rows = [row for row in self.prepared if row < len(fetching)]
        later = fetching[self.first :]
        if len(later):
            fetching[rows] = np.minimum(fetching[rows], np.median(later))
        return fetching

    def _visible(self, fetching: float) -> float:
        """The wait in fetches of Python, without what a fetch of a ready batch takes."""
        overhead = [_overhead(one) * one.per_step for one in self.in_python] or [_FETCH]
        return max(0.0, fetching - sum(overhead))

    def _mean(self, seconds: Floats) -> float:
        rows = slice(self.first, None)
        return float((seconds[rows] * self.loop.count[rows]).sum()) / max(1, self.steps)

    def _compiled(self) -> list[Pipeline]:
        """Pipelines that compiled steps fetch from and whose wait was measured."""
        inside = [one for one in self.feeding if not one.in_python]
        measured = [one for one in inside if math.isfinite(wait_per_batch(one))]
        well = [one for one in measured if one.over >= _FEWEST_BATCHES]
        return well or [one for one in inside if math.isfinite(one.wait)]

    def _starts(self, in_python: bool) -> float:
        """Seconds per step that steps right after a new iterator take above the usual.

        The first batch waits for buffers to fill, which gaps in the iterator's model do not show.
        """
        running = self.loop.phases[:, Phase.INPUT if in_python else Phase.RUN]
        usual = float(np.median(running[self.first :]))
        fetched = [one for one in self.feeding if one.in_python == in_python]
        made = list(chain.from_iterable(pipeline.made for pipeline in fetched))
        rows = {int(row) for row in np.searchsorted(self.loop.end, made)} - self.prepared
        inside = [row for row in rows if self.first <= row < len(running)]
        return sum(max(0.0, float(running[row]) - usual) for row in inside) / self.steps


def _longest(candidates: Iterable[Pipeline], step: float) -> Pipeline | None:
    """The pipeline with the longest wait."""
    found = max(candidates, key=_wait_per_step, default=None)
    return calibrated(found, step) if found is not None and not found.opaque else None


def _first_row(loop: Loop, feeding: Sequence[Pipeline]) -> int:
    """The first step pays for the start; while a cache is filled, the whole first pass does."""
    skipped = max((one.filling / one.per_step for one in feeding), default=0.0)
    return max(1, int(np.searchsorted(loop.number, skipped, side="right")))


def wait_per_batch(pipeline: Pipeline) -> float:
    if pipeline.filling:
        return pipeline.later
    return pipeline.wait if math.isfinite(pipeline.wait) else pipeline.fetch


def _wait_per_step(pipeline: Pipeline) -> float:
    return wait_per_batch(pipeline) * pipeline.per_step


def calibrated(pipeline: Pipeline, step: float) -> Pipeline:
    """The stages with no more work than fits a step: ops are also timed while they only queue."""
    seconds, _ = slowest(pipeline.stages)
    most = step / pipeline.per_step
    if seconds <= most:
        return pipeline
    factor = most / seconds
    stages = tuple(replace(stage, busy=stage.busy * factor) for stage in pipeline.stages)
    return replace(pipeline, stages=stages, calibration=factor)


def _overhead(pipeline: Pipeline) -> float:
    """What a fetch in Python costs beside the wait; first batches, which wait longest, excluded."""
    if pipeline.over < _FEWEST_BATCHES or not math.isfinite(pipeline.wait):
        return _FETCH
    return min(max(0.0, pipeline.fetch - pipeline.wait), _LONGEST_FETCH)


# What would be left


@dataclass(frozen=True)
class Machine:
    """What the processors allow: `busy` seconds of them per step (NaN where unknown), and cores."""

    busy: float
    cores: int

    @classmethod
    def during(cls, run: Run, loop: Loop) -> Machine:
        """As the steps of a loop after the first used it."""
        first, steps = float(loop.end[0]), loop.steps - int(loop.count[0])
        busy = None
        if steps >= 1 and loop.stop - first >= _SHORTEST_READ:
            busy = processor_seconds(run.process_of(loop), first, loop.stop)
        return cls(math.nan if busy is None else busy / steps, cores_of(run, loop))

    @property
    def floor(self) -> float:
        """Seconds that a step takes with all processors busy."""
        return self.busy / self.cores if self.cores and math.isfinite(self.busy) else 0.0

    def without(self, seconds: float) -> Machine:
        """The same if some processor time of a step were gone."""
        return replace(self, busy=float(np.maximum(0.0, self.busy - seconds)))  # NaN stays NaN


def is_buffered_ahead(stages: Sequence[Stage]) -> bool:
    """Whether batches are made while a step runs: the top stage works in threads of its own."""
    return bool(stages) and stages[0].asynchronous


def step_with(wait: Wait, stages: Sequence[Stage], machine: Machine) -> float:
    """Seconds of a step with other stages: the slowest of step, stages and processors limits it."""
    if not is_buffered_ahead(stages):
        return max(wait.rest + sum(stage.seconds for stage in stages), machine.floor)
    per_batch, _ = slowest(stages)
    needed = per_batch * (wait.pipeline.per_step if wait.pipeline else 1.0)
    return max(wait.rest, needed, machine.floor)


def limits_next(wait: Wait, pipeline: Pipeline, stage: Stage) -> tuple[float, str]:
    """What a step would take if a stage were free, and what would limit it then."""
    seconds, stages = slowest(without(pipeline.stages, stage))
    seconds *= pipeline.per_step
    if seconds <= wait.rest:
        return wait.rest, "the step itself"
    place = f" at {stages[0].location}" if stages[0].location else ""
    return seconds, f"{stages[0].name}{place}"
