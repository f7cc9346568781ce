"""Caches behind a repetition: what they hold, and what keeps the repetition where it is."""

from __future__ import annotations

import pytest

from unslow.analyse.memory.pipeline_buffers import RepeatedCache, repeated_caches
from unslow.analyse.sketches.pipelines import Made, pipeline_facts
from unslow.analyse.sketches.sketch import Sketch
from unslow.facts.data import BuiltStage
from unslow.facts.schema import Place

SOURCE = BuiltStage(kind="TensorSlice", length=100)
REPEAT = BuiltStage(kind="Repeat", count=4, length=400)
MAP = BuiltStage(kind="ParallelMap", length=400, function=Place("train.py", 3, "load"))
CACHE = BuiltStage(kind="Cache", length=400)


def _found(*stages: BuiltStage, held: float = 400) -> list[RepeatedCache]:
    made = []
    for line, asked in enumerate(stages, start=1):
        buffered = held if asked.kind == "Cache" else 0.0
        name = "MemoryCacheImpl" if buffered else asked.kind
        made.append(Made(asked.kind, runs_as=name, buffered=buffered, line=line, asked=asked))
    run = Sketch("a cache", facts=pipeline_facts(*made, wait=1e-5)).run()
    return list(repeated_caches(run, 0))


def test_all_passes_but_one_could_go() -> None:
    [found] = _found(SOURCE, REPEAT, MAP, CACHE)
    assert found.location.line == 4
    assert found.repeat is not None and found.repeat.line == 2
    assert found.passes == pytest.approx(4)
    assert found.frees == pytest.approx(0.75 * 400 * 1000)
    assert not found.obstacle


@pytest.mark.parametrize(
    "stages",
    [
        (SOURCE, MAP.replace(length=100), CACHE.replace(length=100), REPEAT),
        (SOURCE, REPEAT.replace(count=1, length=100), CACHE.replace(length=100)),
        (SOURCE, REPEAT, MAP, CACHE.replace(file="pictures.cache")),
        (SOURCE, REPEAT.replace(count=-1, length=-1), MAP, CACHE.replace(length=-1)),
        (SOURCE, REPEAT, MAP, CACHE.replace(length=-2)),
        (SOURCE, REPEAT, MAP.replace(random=True), CACHE),
        (SOURCE, MAP.replace(python=True), REPEAT, CACHE),
    ],
    ids=[
        *("cache first", "once", "in a file", "endless, which is growth", "length unknown"),
        *("random variants", "Python, perhaps random"),
    ],
)
def test_other_caches(stages: tuple[BuiltStage, ...]) -> None:
    assert not _found(*stages)


def test_a_cache_of_the_first_pass_frees_nothing() -> None:
    assert not _found(SOURCE, REPEAT, MAP, CACHE, held=100)


BATCH = BuiltStage(kind="Batch", batch_size=30, length=14)


@pytest.mark.parametrize(
    ("stages", "obstacle"),
    [
        ((SOURCE, BuiltStage(kind="Shuffle"), REPEAT, MAP, CACHE), "shuffle"),
        ((SOURCE, REPEAT, BuiltStage(kind="Shuffle"), MAP, CACHE), "shuffle"),
        ((SOURCE, REPEAT, BATCH, CACHE.replace(length=16)), "the end of one pass"),
        ((SOURCE, REPEAT, BATCH.replace(batch_size=25), CACHE.replace(length=16)), ""),
        ((SOURCE, REPEAT, BuiltStage(kind="Take", count=300), CACHE), "Take"),
    ],
)
def test_what_keeps_the_repetition_in_front(stages: tuple[BuiltStage, ...], obstacle: str) -> None:
    [found] = _found(*stages)
    assert obstacle in found.obstacle and bool(obstacle) == bool(found.obstacle)
