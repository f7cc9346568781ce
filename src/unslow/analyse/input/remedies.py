"""What could be done about a wait for data, and the step time that each remedy would leave."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np

from unslow.analyse.input import cache_plans, waits
from unslow.analyse.input.cache_plans import CachePlan, cache_plan, computes
from unslow.analyse.input.discarded_elements import Discard, largest_discard
from unslow.analyse.input.graph_pipeline import has_no_models, unreadable
from unslow.analyse.input.pipeline import Pipeline, Stage, asked_for, slowest, without
from unslow.analyse.input.waits import (
    Machine,
    Wait,
    is_buffered_ahead,
    step_with,
)
from unslow.analyse.stats.robust import ratio
from unslow.cause import CannotJudge
from unslow.facts.data import NO_MODELS, PythonFunction
from unslow.facts.schema import Place
from unslow.model import Certainty, Run

READS = (*waits.READS, *cache_plans.READS, PythonFunction)

# For a stage that sleeps: more than there are cores, few enough for any disk or server (judgement).
SLEEPING_THREADS = 16
_KEEPS_UP = 0.7  # of a step: a stage that takes less would keep up with it
_LONG_WAIT = 0.5  # of a step: a busy machine alone does not make a step wait so long
_LEAST_WORK = 0.25  # of a wait, as the work of the slowest stage: in a burst others wait for it too
_LEAST_UNEXPLAINED = 0.25  # of a step: a smaller wait that no stage explains may be noise
_LONGEST_READY_FETCH = 1e-3  # seconds per step: so long does no fetch of a ready batch take
_CHEAP_ELEMENT = 400e-6  # seconds per element below which calling a function is a real part of it
_LEAST_DISCARDED = 0.10  # of a step: a few elements that a split skips are no fault (judgement)
_SMALLEST_BATCH = 8  # elements: calls of a function on fewer do not add up


@dataclass(frozen=True)
class PythonWork:
    """Python that a stage runs, per batch."""

    place: Place
    calls: float
    took: float
    ran: float  # on a processor, which holds the interpreter's lock
    slept: float  # neither on a processor nor waiting for one


@dataclass(frozen=True)
class Remedy:
    """One remedy: its kind, the stage it applies to, and what a step would take then."""

    kind: str  # threads, parallel, vectorise, cache, discard, prefetch, python, none
    stage: Stage | None
    after: float  # seconds per step
    share: float = 1.0  # of the steps that gain by it
    python: PythonWork | None = None
    cache: CachePlan | None = None
    discard: Discard | None = None

    def saved(self, wait: Wait) -> float:
        return max(0.0, wait.step - self.after) * wait.steps * self.share


@dataclass(frozen=True)
class _Case:
    """A wait for a pipeline whose stages are known."""

    run: Run
    wait: Wait
    pipeline: Pipeline
    machine: Machine

    @property
    def stages(self) -> tuple[Stage, ...]:
        return self.pipeline.stages

    def step_with(self, stages: Sequence[Stage]) -> float:
        return step_with(self.wait, stages, self.machine)


def best_remedy(run: Run, wait: Wait) -> Remedy | None:
    return next(iter(remedies(run, wait)), None)


def remedies(run: Run, wait: Wait) -> list[Remedy]:
    """All that apply, the best first, `none` last; nothing where the pipeline is not to blame."""
    pipeline = wait.pipeline
    if pipeline is None or not _is_explained(wait, pipeline):
        return [Remedy("none", None, wait.rest)] if _is_certain(wait) else []
    machine = Machine.during(run, wait.loop)
    machine = replace(machine, cores=machine.cores or pipeline.cores)
    case = _Case(run, wait, pipeline, machine)
    cached = list(_cache(case, cache_plan(run, wait, pipeline)))
    # A cache saves what is left of a Python stage from the second pass on, without rewriting it.
    without_cache = [] if any(one.python for one in cached) else _python(case)
    found = [
        *without_cache,
        *_parallel(case),
        *_vectorise(case),
        *cached,
        *_discard(case),
        *_prefetch(case),
    ]
    found.sort(key=lambda remedy: -_worth(remedy, wait))
    limiting = limiting_stage(pipeline)
    if limiting is not None and not limiting.seen and wait.share < _LEAST_UNEXPLAINED:
        return found  # it did its work before the first reading: that it limits is a guess
    return [*found, Remedy("none", limiting, wait.rest)]


def _worth(remedy: Remedy, wait: Wait) -> float:
    """Seconds by which remedies are compared: Python is to blame for the first pass, too."""
    return remedy.saved(wait) / (remedy.share if remedy.python is not None else 1.0)


def _is_explained(wait: Wait, pipeline: Pipeline) -> bool:
    """Whether the stages do work that could be what is waited for.

    A profiler window does not see what stages do at the start of each pass.
    """
    has_enough_work = _slowest_work(pipeline) >= _LEAST_WORK * wait.per_step
    is_long = wait.share >= _LONG_WAIT and not pipeline.profiled
    return bool(pipeline.stages) and (is_long or has_enough_work)


def require_models(run: Run, worth: float) -> None:
    """Raises where waits of some share of a step may have reasons that only models would show."""
    why = unreadable(run)
    if why:
        raise CannotJudge(why)
    for wait in waits.waits(run):
        explained = wait.pipeline is not None and _is_explained(wait, wait.pipeline)
        if wait.share >= worth and not explained and has_no_models(run, wait.loop.process):
            raise CannotJudge(NO_MODELS)


def _slowest_work(pipeline: Pipeline) -> float:
    """Seconds per step of the slowest stages that share a thread."""
    return slowest(pipeline.stages)[0] * pipeline.per_step


def _is_certain(wait: Wait) -> bool:
    """Whether a wait is one for data although no stage explains it.

    On a busy machine threads that are ready do not get a processor. Models of iterators count
    waits inside compiled steps, and are off by rare long pauses; fetches in Python are measured.
    """
    measured = not wait.compiled and wait.per_step >= _LONGEST_READY_FETCH
    return wait.share >= _LEAST_UNEXPLAINED or measured


def certainty(wait: Wait) -> Certainty:
    """MEASURED where the stages are slow enough to explain the wait without a busy machine."""
    if wait.pipeline is None or not wait.pipeline.stages:
        return Certainty.LIKELY
    is_slow = _slowest_work(wait.pipeline) >= _KEEPS_UP * wait.step
    return Certainty.MEASURED if is_slow or wait.share >= _LONG_WAIT else Certainty.LIKELY


def limiting_stage(pipeline: Pipeline) -> Stage | None:
    """The stage that holds the batches up."""
    _, stages = slowest(pipeline.stages)
    found = next(iter(asked_for(stages) or stages), None)
    if found is None or found.kind != "Shuffle":
        return found
    # A shuffle waits for what fills it, and counts that as its own work.
    below = pipeline.stages[pipeline.stages.index(found) + 1 :]
    filling = takewhile(lambda stage: stage.kind != "Cache", below)
    return max(filter(computes, filling), key=lambda stage: stage.busy, default=found)


def python_work(run: Run, wait: Wait, pipeline: Pipeline, stage: Stage) -> PythonWork | None:
    """What the Python functions of a stage did."""
    last = {fact.token: fact for fact in run.facts(PythonFunction, wait.loop.process)}
    called = [last[token] for token in stage.asked.tokens if token in last]
    if not called:
        return None
    batches = max(1.0, wait.steps * pipeline.per_step)
    totals = np.array([(one.count, one.took, one.ran, _slept(one)) for one in called])
    calls, took, ran, slept = (totals.sum(axis=0) / batches).tolist()
    place = max(called, key=lambda fact: fact.took).place
    return PythonWork(place, calls, took, ran, slept)


def _slept(fact: PythonFunction) -> float:
    queued = ratio(fact.queued, fact.observed)
    return max(0.0, fact.took * (1 - queued) - fact.ran)


def _with_threads(stages: Sequence[Stage], stage: Stage, threads: int) -> tuple[Stage, ...]:
    freed = replace(stage, parallelism=float(threads), asynchronous=True)
    return tuple(freed if one is stage else one for one in stages)


def _python(case: _Case) -> Iterable[Remedy]:
    """A stage that runs Python: threads help where it sleeps, not where it holds the lock."""
    pipeline, wait = case.pipeline, case.wait
    for stage in case.stages:
        work = python_work(case.run, wait, pipeline, stage) if stage.asked.python else None
        if work is None:
            continue
        together = max(work.took, stage.busy) / max(1.0, stage.parallelism) * pipeline.per_step
        if together < 0.5 * wait.per_step and stage is not limiting_stage(pipeline):
            continue
        if stage.kind == "Map" and work.slept > work.ran and stage.parallelism < SLEEPING_THREADS:
            after = case.step_with(_with_threads(case.stages, stage, SLEEPING_THREADS))
            yield Remedy("threads", stage, after, python=work)
        else:
            after = step_with(wait, without(case.stages, stage), Machine(math.nan, 0))
            yield Remedy("python", stage, after, python=work)


def _parallel(case: _Case) -> Iterable[Remedy]:
    """A map or a reader that may only use one thread while others are idle."""
    stage, cores = limiting_stage(case.pipeline), case.machine.cores
    if stage is None or not stage.seen or stage.kind not in ("Map", "Interleave"):
        return
    if not (stage.asked.python or stage.tuned or stage.parallelism >= cores):
        after = case.step_with(_with_threads(case.stages, stage, cores))
        yield Remedy("parallel", stage, after)


def _vectorise(case: _Case) -> Iterable[Remedy]:
    """A cheap function called once per element: the calls cost more than its work."""
    per_step = case.pipeline.per_step
    per_batch = case.wait.step / per_step
    counted, _ = slowest(case.stages)
    for stage in case.stages:
        size = stage.asked.batch_size or 0
        fused = stage.name == "MapAndBatch" and size >= _SMALLEST_BATCH
        cheap = fused and per_batch / size <= _CHEAP_ELEMENT and counted <= 0.6 * per_batch
        if cheap and not stage.asked.python:
            work = sum(one.seconds for one in case.stages) * per_step  # its own work stays
            yield Remedy("vectorise", stage, max(case.wait.rest, work))


def _prefetch(case: _Case) -> Iterable[Remedy]:
    if not is_buffered_ahead(case.stages):
        top = case.stages[0]
        ahead = replace(top, name="Prefetch", busy=0.0, asynchronous=True, parallelism=1.0)
        yield Remedy("prefetch", top, case.step_with((ahead, *case.stages)))


def _discard(case: _Case) -> Iterable[Remedy]:
    """Throw elements away before the work on them is done."""
    wait = case.wait
    found = largest_discard(wait, case.pipeline)
    if found is not None and found.seconds >= _LEAST_DISCARDED * wait.step:
        after = wait.step - min(found.seconds, wait.per_step)
        yield Remedy("discard", found.by, after, discard=found)


def _cache(case: _Case, plan: CachePlan | None) -> Iterable[Remedy]:
    """Keep what is the same in every pass: all up to the first repetition or randomness."""
    if plan is None:
        return
    # Shuffles are filled from memory then, which takes no time.
    gone = (*plan.kept, *(stage for stage in case.stages if stage.kind == "Shuffle"))
    work = sum(stage.busy for stage in gone) * case.pipeline.per_step
    machine = case.machine.without(work)
    after = step_with(case.wait, without(case.stages, *gone), machine)
    cached = Remedy("cache", plan.behind, after, share=1 - 1 / plan.passes, cache=plan)
    if plan.fits:
        # Python that makes the same again is named as such: its line is the one that takes time.
        for one in _python(case):
            if one.kind == "python" and one.stage in plan.kept:
                cached = replace(cached, kind="python", stage=one.stage, python=one.python)
    yield cached
