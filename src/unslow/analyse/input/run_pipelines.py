"""The pipelines of a run: what tf.data's model reports, with the lines that built each stage."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from unslow.analyse.grouping import grouped
from unslow.analyse.input import graph_pipeline
from unslow.analyse.input.cached_repeats import cached_repeat
from unslow.analyse.input.dataset_variants import (
    AllVariants,
    built_stages,
    dataset_variants,
    first_variant,
)
from unslow.analyse.input.model_readings import (
    Readings,
    Work,
    latest_nodes,
    nodes_by_path,
    work_per_batch,
)
from unslow.analyse.input.overlay import NOT_RUN, Match, match_stages
from unslow.analyse.input.pipeline import Pipeline, Stage
from unslow.analyse.input.stage_lines import stage_location
from unslow.analyse.places import shown
from unslow.analyse.stats.robust import ratio
from unslow.facts.data import ENDLESS, BuiltStage, IteratorMade, PipelineReading
from unslow.model import Location, Run

READS = graph_pipeline.READS


class _Key(NamedTuple):
    process: int
    dataset: int
    evaluates: bool


def pipelines(run: Run) -> list[Pipeline]:
    """Every pipeline that gave out batches."""
    variants = dataset_variants(run)
    made = grouped(run.facts(IteratorMade), lambda one: first_variant(variants, one))
    found = []
    for key, iterators in _by_pipeline(run, variants).items():
        whose = (key.process, key.dataset)
        built = variants[whose].stages if whose in variants else ()
        found.append(_pipeline(run, key, built, made.get(whose, ()), iterators))
    return found


def _by_pipeline(run: Run, variants: AllVariants) -> dict[_Key, list[Readings]]:
    def key(reading: PipelineReading) -> _Key:
        return _Key(*first_variant(variants, reading), reading.evaluates)

    by_iterator = grouped(run.facts(PipelineReading), lambda one: (key(one), one.iterator))
    iterators = [Readings(tuple(readings)) for readings in by_iterator.values()]
    iterators += graph_pipeline.profiled_readings(run)
    # Keras makes one iterator more than it needs.
    used = [one for one in iterators if one.last.elements]
    return grouped(used, lambda one: key(one.last))


def _pipeline(
    run: Run,
    key: _Key,
    built: tuple[BuiltStage, ...],
    made: Sequence[IteratorMade],
    iterators: Sequence[Readings],
) -> Pipeline:
    last = [one.last for one in iterators]
    fetches = sum(one.fetches for one in last)
    length = max(one.length for one in iterators)
    cache = _Cache(built, iterators)
    return Pipeline(
        process=key.process,
        dataset=key.dataset,
        location=_made_at(run, made),
        stages=tuple(_stages(run, built, iterators, cache)),
        built=built,
        batches=sum(one.elements for one in last),
        wait=_mean_wait(iterators),
        over=sum(one.over for one in last),
        later=_mean_wait(cache.full, cache.since),
        filling=cache.filling(length),
        fetches=fetches,
        fetch=sum(one.fetch for one in last) / max(1, fetches),
        per_step=_per_step(iterators),
        iterators=max((one.n for one in made), default=0),
        read=len(iterators),
        made=tuple(one.time for one in made if not one.graph),  # a graph only defines it
        sources=max((one.sources for one in made), default=1),
        length=length,
        span=(min(one.first.time for one in iterators), max(one.time for one in last)),
        evaluates=key.evaluates,
        profiled=iterators[0].profiled,
        cores=max(one.cpu_budget for one in last),
        spare_bytes=last[-1].ram_budget,
        readings=tuple(iterators),
    )


def _made_at(run: Run, made: Sequence[IteratorMade]) -> Location | None:
    """Where its first iterator was made."""
    return shown(run, next((one.stack for one in made if one.stack), ()))


def _per_step(iterators: Sequence[Readings]) -> float:
    """Batches per training step between the first and the last reading of each iterator."""
    steps = sum(one.last.step - one.first.step for one in iterators)
    batches = sum(one.last.elements - one.first.elements for one in iterators)
    return ratio(batches, steps)


class _Cache:
    """Which of a pipeline's readings were made when its caches, if it has any, were full."""

    def __init__(self, built: Sequence[BuiltStage], iterators: Sequence[Readings]) -> None:
        caches = [one for one in built if one.kind == "Cache" and one.length != ENDLESS]
        is_read = len(iterators) > 1 or cached_repeat(built) is None
        self.present = bool(caches) and is_read
        self.full = iterators  # iterators that read from a full cache
        self.since: PipelineReading | None = None  # the same for a single iterator that repeats
        if not self.present or iterators[0].profiled:
            return
        if len(iterators) > 1:
            self.full = iterators[1:]
            return
        self.since = next((one for one in iterators[0].all[:-1] if _is_full(one)), None)
        self.full = iterators if self.since is not None else ()

    def filling(self, length: int) -> int:
        """Batches of the pass that fills it."""
        if not self.present:
            return 0
        return length if self.since is None else max(1, self.since.elements)


def _is_full(reading: PipelineReading) -> bool:
    """Whether all caches are read from: one that is being filled has an input (seen on 2.21)."""
    caches = [node for node in reading.nodes if node.name.endswith("CacheImpl")]
    return bool(caches) and not any(node.inputs for node in caches)


def _mean_wait(iterators: Sequence[Readings], since: PipelineReading | None = None) -> float:
    over = sum(one.last.over for one in iterators)
    wait = sum(one.last.wait for one in iterators)
    if since is not None:
        over, wait = over - since.over, wait - since.wait
    return wait / over if over > 0 else math.nan


def endless_cache(run: Run, process: int) -> Location | None:
    """The line that caches in memory what has no end, as behind a `repeat()`."""
    stages = built_stages(run, process)
    in_memory = [stage for stage in stages if stage.kind == "Cache" and not stage.file]
    endless = (stage.stack for stage in in_memory if stage.length == ENDLESS and stage.stack)
    return shown(run, next(endless, ()))


def _stages(
    run: Run, built: Sequence[BuiltStage], iterators: Sequence[Readings], cache: _Cache
) -> Iterable[Stage]:
    """The stages with what they did, counted over iterators that read from a full cache."""
    # Sources leave the model when they are used up: the reading with most nodes has them all.
    readings = chain.from_iterable(one.all for one in iterators)
    shape = nodes_by_path(max(readings, key=lambda reading: len(reading.nodes)))
    if "" not in shape or not shape[""].inputs:
        return
    latest = latest_nodes(iterators)
    work = work_per_batch(cache.full or iterators, cache.since)
    nodes = {
        node.id: latest[path].replace(id=node.id, inputs=node.inputs)
        for path, node in shape.items()
    }
    work_of = {node.id: work.get(path, Work()) for path, node in shape.items()}
    lowest = -1
    for match in match_stages(nodes, built):
        lowest = max((lowest, *match.positions))
        yield _stage(run, match, [built[position] for position in match.positions], work_of)
    for stage in built[lowest + 1 :]:  # used up before the first reading
        if stage.kind not in NOT_RUN:
            yield Stage(stage.kind, stage_location(run, stage), bytes=stage.bytes, asked=stage)


def _stage(run: Run, match: Match, built: Sequence[BuiltStage], work_of: dict[int, Work]) -> Stage:
    node = match.node
    stage = Stage(
        name=node.name,
        busy=sum(work_of[number].busy for number in (node.id, *match.inner)),
        elements=work_of[node.id].elements,
        parallelism=node.parallelism,
        tuned=node.parallelism_tuned,
        asynchronous=node.asynchronous,
        buffered=node.buffered,
        buffered_bytes=node.buffered_bytes,
        bytes=node.produced / max(1.0, node.elements),
    )
    if not built:
        return stage
    # A fused stage is named after its lower half, which has the function or the buffer; its other
    # settings come from both.
    leader = built[-1]
    asked = leader.replace(
        batch_size=next((one.batch_size for one in built if one.batch_size), None),
        buffer_size=next((one.buffer_size for one in built if one.buffer_size), None),
    )
    return replace(stage, location=stage_location(run, leader), asked=asked)
