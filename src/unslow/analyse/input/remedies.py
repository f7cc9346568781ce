"""What could be done about a wait for data, and the step time that each way would leave."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from unslow.analyse.input.overlay import READERS
from unslow.analyse.input.pipeline import Pipeline, Stage, slowest, without
from unslow.analyse.input.waits import Wait, buffered_ahead, processor, step_with
from unslow.model import Run

_THREADS = (
    16  # for a stage that sleeps: more than there are cores, few enough for any disk or server
)
_AS_LONG = 0.7  # of a step: a stage that takes less would keep up with it
_UNSEEN = 0.25  # of a step: a wait for a pipeline that cannot be looked into must be large to be told from noise
_TINY = 400e-6  # seconds per element below which the dispatch of a function is a real part of it
# Stages that give the same elements in every pass if their functions do.
_STEADY = frozenset(
    (
        "TensorSlice",
        "Tensor",
        "Range",
        "Map",
        "Filter",
        "FlatMap",
        "Interleave",
        "Batch",
        "PaddedBatch",
        "Unbatch",
        "Zip",
        "Concatenate",
        "Take",
        "Skip",
        "Shard",
        "Prefetch",
        "Window",
        "Enumerate",
        *READERS,
    )
)


@dataclass(frozen=True)
class Remedy:
    """One way out: its kind, the stage it is about, and what a step would take then."""

    kind: str  # threads, parallel, vectorise, cache, prefetch, python, none
    stage: Stage | None
    after: float  # seconds per step
    share: float = 1.0  # of the steps that gain by it
    facts: dict[str, Any] = field(default_factory=dict)

    def saved(self, wait: Wait) -> float:
        return max(0.0, wait.step - self.after) * wait.steps * self.share


@dataclass(frozen=True)
class PythonWork:
    """Python that a stage runs, per batch."""

    calls: float
    took: float
    ran: float  # of it on a processor, which holds the interpreter's lock
    slept: float  # neither on a processor nor in line for one
    place: tuple[str, int, str]


def remedies(run: Run, wait: Wait) -> list[Remedy]:
    """All that applies, the best first, `none` last; nothing where the wait is not the pipeline's."""
    pipeline = wait.pipeline
    if not accounted(wait):
        return []
    if pipeline is None or not pipeline.stages:
        return [Remedy("none", None, wait.rest)]
    busy = processor(run, wait.loop)
    cores = _cores(run, wait)
    found = [
        *_python(run, wait, busy, cores),
        *_parallel(wait, busy, cores),
        *_vectorise(wait),
        *_cache(wait, busy, cores),
        *_prefetch(wait, busy, cores),
    ]
    found.sort(key=lambda remedy: -remedy.saved(wait))
    slowest_stage = limit(wait)
    if slowest_stage is not None and not slowest_stage.seen and wait.share < _UNSEEN:
        return found  # it did its work before anybody looked: that it is the one is a guess
    return [*found, Remedy("none", slowest_stage, wait.rest)]


def accounted(wait: Wait) -> bool:
    """Whether the pipeline itself is to blame: a stage takes as long as the step, or iterators start slowly.

    On a busy machine threads that were ready do not get a processor, and a step then waits for a pipeline that would
    keep up with it: that is nobody's stage. Half of the step and more is not lost in this way.
    """
    if wait.pipeline is None or not wait.pipeline.stages:
        return wait.share >= _UNSEEN
    seconds = slowest(wait.pipeline.stages)[0] * wait.pipeline.per_step
    filling = wait.starts >= 0.5 * wait.per_step and seconds >= _AS_LONG * wait.starts
    return wait.share >= 0.5 or seconds >= _AS_LONG * wait.step or filling


def limit(wait: Wait) -> Stage | None:
    """The stage that holds the batches up."""
    assert wait.pipeline is not None
    _, stages = slowest(wait.pipeline.stages)
    named = [stage for stage in stages if not stage.injected]
    found = next(iter(named or stages), None)
    if (
        found is not None and found.kind == "Shuffle"
    ):  # it waits for what fills it, and counts that as its own
        below = wait.pipeline.stages[wait.pipeline.stages.index(found) + 1 :]
        cached = next(
            (place for place, stage in enumerate(below) if stage.kind == "Cache"), len(below)
        )
        work = [
            stage
            for stage in below[:cached]
            if stage.settings.get("function") or stage.kind in READERS
        ]
        found = max(work, key=lambda stage: stage.busy, default=found)
    return found


def _cores(run: Run, wait: Wait) -> int:
    machine = next((one.machine for one in run.processes if one.index == wait.loop.process), {})
    cores = machine.get("cores")
    return (
        int(cores)
        if isinstance(cores, int | float) and cores
        else (wait.pipeline.cores if wait.pipeline else 1)
    )


def python_work(run: Run, wait: Wait, stage: Stage) -> PythonWork | None:
    """What the Python functions inside of a stage did, per batch that was handed out."""
    assert wait.pipeline is not None
    tokens = set(stage.settings.get("tokens", ()))
    last: dict[str, Any] = {}
    for event in run.of("python_function"):
        if event.process == wait.loop.process and event.data["token"] in tokens:
            last[str(event.data["token"])] = event.data
    dearest = max(last.values(), key=lambda data: float(data["took"]), default=None)
    if dearest is None:
        return None
    batches = max(1.0, wait.steps * wait.pipeline.per_step)
    place = dearest["place"]
    return PythonWork(
        calls=sum(float(data["count"]) for data in last.values()) / batches,
        took=sum(float(data["took"]) for data in last.values()) / batches,
        ran=sum(float(data["ran"]) for data in last.values()) / batches,
        slept=sum(_slept(data) for data in last.values()) / batches,
        place=(str(place[0]), int(place[1]), str(place[2])),
    )


def _slept(data: Mapping[str, Any]) -> float:
    took, observed = float(data["took"]), float(data.get("observed", 0.0))
    queued = float(data.get("queued", 0.0)) / observed if observed > 0 else 0.0
    return max(0.0, took * (1 - queued) - float(data["ran"]))


def _with(stages: Sequence[Stage], stage: Stage, **changes: Any) -> tuple[Stage, ...]:
    return tuple(replace(one, **changes) if one is stage else one for one in stages)


def _python(run: Run, wait: Wait, busy: float, cores: int) -> Iterable[Remedy]:
    """A stage that runs Python: more threads where it sleeps, none where it holds the interpreter's lock."""
    assert wait.pipeline is not None
    for stage in wait.pipeline.stages:
        if not stage.settings.get("python"):
            continue
        work = python_work(run, wait, stage)
        if work is None:
            continue
        at_once = max(work.took, stage.busy) / max(1.0, stage.parallelism)
        if at_once * wait.pipeline.per_step < 0.5 * wait.per_step and stage is not limit(wait):
            continue
        facts = {
            "calls": work.calls,
            "took": work.took,
            "ran": work.ran,
            "slept": work.slept,
            "python": list(work.place),
        }
        if stage.kind == "Map" and work.slept > work.ran and stage.parallelism < _THREADS:
            freed = _with(
                wait.pipeline.stages, stage, parallelism=float(_THREADS), asynchronous=True
            )
            after = step_with(wait, freed, busy, cores)
            yield Remedy("threads", stage, after, facts={**facts, "threads": _THREADS})
        else:
            after = step_with(wait, without(wait.pipeline.stages, stage), math.nan, cores)
            yield Remedy("python", stage, after, facts=facts)


def _parallel(wait: Wait, busy: float, cores: int) -> Iterable[Remedy]:
    """A map or a reader that may only use one thread while others are idle."""
    assert wait.pipeline is not None
    stage = limit(wait)
    if (
        stage is None
        or not stage.seen
        or stage.settings.get("python")
        or stage.tuned
        or stage.parallelism >= cores
    ):
        return
    if stage.kind not in ("Map", "Interleave") or cores < 2:
        return
    freed = _with(wait.pipeline.stages, stage, parallelism=float(cores), asynchronous=True)
    yield Remedy("parallel", stage, step_with(wait, freed, busy, cores))


def _vectorise(wait: Wait) -> Iterable[Remedy]:
    """A cheap function called once per element: its dispatch costs more than its work."""
    assert wait.pipeline is not None
    per_batch = wait.step / wait.pipeline.per_step
    counted, _ = slowest(wait.pipeline.stages)
    for stage in wait.pipeline.stages:
        size = float(stage.settings.get("batch_size", 0))
        if stage.name != "MapAndBatch" or stage.settings.get("python") or size < 8:
            continue
        if per_batch / size > _TINY or counted > 0.6 * per_batch:
            continue
        inside = sum(
            one.seconds for one in wait.pipeline.stages
        )  # its own work stays, its dispatch goes
        yield Remedy(
            "vectorise",
            stage,
            max(wait.rest, inside * wait.pipeline.per_step),
            facts={"batch": size},
        )


def _prefetch(wait: Wait, busy: float, cores: int) -> Iterable[Remedy]:
    assert wait.pipeline is not None
    stages = wait.pipeline.stages
    if buffered_ahead(stages):
        return
    ahead = replace(stages[0], name="Prefetch", busy=0.0, asynchronous=True, parallelism=1.0)
    yield Remedy("prefetch", stages[0], step_with(wait, (ahead, *stages), busy, cores))


# A cache: where it may stand, and whether it fits


def _cache(wait: Wait, busy: float, cores: int) -> Iterable[Remedy]:
    """Keep what is the same in every pass: all up to the first repetition or randomness."""
    assert wait.pipeline is not None
    stages = wait.pipeline.stages
    kept, moved = _same_each_pass(stages)
    if not kept or wait.pipeline.has("Cache") or wait.pipeline.has("Snapshot"):
        return
    last = kept[-1]
    if (
        not last.seen
    ):  # its work was done before anybody looked: what it takes, and would hold, is not known
        return
    length = float(last.settings.get("length", -2))
    # In passes of one iterator each, what was handed out in one tells how many there were.
    again = wait.pipeline.iterators > 1
    batches = wait.loop.steps * wait.pipeline.per_step
    passes = (
        batches / wait.pipeline.length
        if again
        else batches * last.items / length
        if length > 0
        else 0.0
    )
    if passes < 1.5 or (again and _partly(wait.pipeline, length)):
        return
    if length <= 0:
        length = wait.pipeline.length * last.items
    size = length * last.item_bytes
    shuffles = [
        stage for stage in stages if stage.kind == "Shuffle"
    ]  # filled from memory, they take no time
    work = sum(stage.busy for stage in (*kept, *shuffles)) * wait.pipeline.per_step
    left = max(0.0, busy - work) if math.isfinite(busy) else busy
    yield Remedy(
        "cache",
        last,
        step_with(wait, without(stages, *kept, *shuffles), left, cores),
        share=1 - 1 / passes,
        facts={
            "bytes": size,
            "passes": passes,
            "fits": size <= wait.pipeline.spare_bytes,
            "moved": moved,
            "spare": wait.pipeline.spare_bytes,
            "length": length,
            "files": _reads_files(kept),
            "built": wait.pipeline.sources,
        },
    )


def _partly(pipeline: Pipeline, length: float) -> bool:
    """Whether a pass ends before its data does: a cache that is never filled to the end is never used."""
    batch = next(
        (float(stage["batch_size"]) for stage in pipeline.built if "batch_size" in stage), 1.0
    )
    used = pipeline.length * batch
    return pipeline.has("Take") if length <= 0 else used < 0.9 * length


def _same_each_pass(stages: Sequence[Stage]) -> tuple[list[Stage], bool]:
    """The stages from the source up that give the same elements in every pass, the last of them one that computes.

    A shuffle only changes the order: what is computed above it can be computed below it as well, if that is a map.
    The second value says whether one must be moved so.
    """
    kept: list[Stage] = []
    shuffled = False
    for stage in reversed(stages):
        if stage.injected:
            continue
        if stage.kind == "Shuffle" and stage.name != "ShuffleAndRepeat":
            shuffled = True
            continue
        if stage.kind not in _STEADY or (shuffled and stage.kind != "Map"):
            break
        if stage.settings.get("random") or stage.settings.get("python"):
            break
        kept.append(stage)
        if shuffled and stage.name == "MapAndBatch":
            break
    while kept and not (kept[-1].settings.get("function") or kept[-1].kind in READERS):
        kept.pop()
    above = stages[: stages.index(kept[-1])] if kept else ()
    return kept, shuffled and not any(stage.kind == "Shuffle" for stage in above)


def _reads_files(stages: Iterable[Stage]) -> bool:
    return any(one.settings.get("files") or one.kind in READERS for one in stages)
