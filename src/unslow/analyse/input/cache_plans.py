"""A cache in a pipeline: behind which stage it may stand, and whether it fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from unslow.analyse.input.cached_repeats import CachedRepeat, cached_repeat
from unslow.analyse.input.overlay import READERS
from unslow.analyse.input.pipeline import Pipeline, Stage, asked_for
from unslow.analyse.input.waits import Wait
from unslow.analyse.stats.robust import ratio
from unslow.facts.data import PythonElements
from unslow.facts.schema import Place
from unslow.model import Run

READS = (PythonElements,)

_FEWEST_PASSES = 1.5  # over the data, for a cache to pay
# Stages that give the same elements in every pass if their functions do.
_REPEATABLE = {
    *("TensorSlice", "Tensor", "Range", "Map", "Filter", "FlatMap", "Interleave", "Batch"),
    *("PaddedBatch", "Unbatch", "Zip", "Concatenate", "Take", "Skip", "Shard", "Prefetch"),
    *("Window", "Enumerate"),
    *READERS,
}
# Elements that Python made twice, at least: of a change to one in ten, 24 of 25 runs show it.
_FEWEST_COMPARED = 30


class Repetition(NamedTuple):
    """The lines, in one file, of a repetition and of the cache that it must be moved behind."""

    repeat: int
    cache: int


@dataclass(frozen=True)
class CachePlan:
    """A cache behind a stage, and whether it is possible."""

    kept: tuple[Stage, ...]  # the stages whose work it saves, from the source up
    bytes: float
    spare: float  # bytes that it may take
    passes: float
    length: float  # elements in a pass
    moved: bool  # the stage must be moved in front of a shuffle
    files: bool  # it would hold what is read from files
    built: int  # times that the pipeline is built: a cache is lost with it
    compared: int = 0  # elements that Python was seen to make a second time; 0 without Python
    reordered: bool = False  # Python gives them in another order in every pass
    shuffled: bool = False  # and a shuffle above the cache does so, too
    unrepeated: Repetition | None = None  # a cache is there, behind a repetition that must be moved

    @property
    def behind(self) -> Stage:
        return self.kept[-1]

    @property
    def function(self) -> Place | None:
        return self.behind.asked.function

    @property
    def fits(self) -> bool:
        return self.bytes <= self.spare

    @property
    def reshuffled(self) -> int:
        """The buffer of a shuffle that must be added for a new order in every pass; 0: none."""
        return round(self.length) if self.reordered and not self.shuffled else 0


def cache_plan(run: Run, wait: Wait, pipeline: Pipeline) -> CachePlan | None:
    """A cache of all that is the same in every pass; None where nothing is, or only once."""
    made = _made_again(run, pipeline)
    repeated = cached_repeat(pipeline.built)
    stages = _before_cache(pipeline, repeated)
    kept = _same_each_pass(stages, made)
    if not kept:
        return None
    last = kept[-1]
    unrepeated = _movable(repeated, last)
    known = _known_length(kept, made) / (repeated.count if repeated is not None else 1)
    passes = _passes(wait, pipeline, last, known)
    is_of_use = passes >= _FEWEST_PASSES and last.seen and not _is_never_full(pipeline, known)
    if _is_kept(pipeline, unrepeated) or not is_of_use:
        return None
    length = known or pipeline.length * last.items
    compared = [made[stage] for stage in kept if stage in made]
    return CachePlan(
        kept=tuple(kept),
        bytes=length * last.item_bytes,
        spare=pipeline.spare_bytes,
        passes=passes,
        length=length,
        moved=_is_above_shuffle(stages, last),
        files=any(stage.asked.files or stage.kind in READERS for stage in kept),
        built=pipeline.sources,
        compared=min((one.compared for one in compared), default=0),
        reordered=any(one.reordered for one in compared),
        shuffled=pipeline.has("Shuffle"),
        unrepeated=unrepeated,
    )


def _is_kept(pipeline: Pipeline, unrepeated: Repetition | None) -> bool:
    """Whether the pipeline keeps its elements already, in a way that is of use."""
    is_cached = pipeline.has("Cache") and unrepeated is None
    return is_cached or pipeline.has("Snapshot")


def _made_again(run: Run, pipeline: Pipeline) -> dict[Stage, PythonElements]:
    """The stages whose Python was seen to make the same in every pass."""
    made = ((stage, python_elements(run, pipeline.process, stage)) for stage in pipeline.stages)
    return {stage: found for stage, found in made if found is not None and found.same}


def _before_cache(pipeline: Pipeline, repeated: CachedRepeat | None) -> Sequence[Stage]:
    """The stages that a cache may stand behind; a repetition in front of one counts as moved."""
    stages = pipeline.stages
    if repeated is None:
        return stages
    caches = [number for number, one in enumerate(stages) if one.asked.kind == "Cache"]
    below = stages[max(caches, default=-1) + 1 :]
    return [stage for stage in below if stage.kind != "Repeat"]


def _movable(repeated: CachedRepeat | None, last: Stage) -> Repetition | None:
    """A repetition that can be moved behind its cache: all is built in one file."""
    if repeated is None or repeated.obstacle or last.location is None:
        return None
    places = [*repeated.repeat.stack[:1], *repeated.cache.stack[:1]]
    if len(places) < 2 or {place.file for place in places} != {last.location.file}:
        return None
    return Repetition(places[0].line, places[1].line)


def python_elements(run: Run, process: int, stage: Stage) -> PythonElements | None:
    """What the Python of a stage was seen to make again; None where too little is known."""
    tokens = stage.asked.tokens
    last = {fact.token: fact for fact in run.facts(PythonElements, process)}
    known = [last[token] for token in tokens if token in last]
    # Other functions of a generator's stage manage its passes.
    generators = [one for one in known if one.generator]
    if not generators and len(known) < max(1, len(tokens)):
        return None
    least = min(generators or known, key=lambda one: (one.same, one.compared))
    return least if least.compared >= _FEWEST_COMPARED or not least.same else None


def _known_length(kept: Sequence[Stage], made: dict[Stage, PythonElements]) -> float:
    """Elements in a pass behind these stages; 0 where it is not known."""
    last = kept[-1]
    if last.asked.length > 0:
        return last.asked.length
    for stage in reversed(kept):
        if stage in made and made[stage].generator:
            return made[stage].elements
        if stage.kind not in ("Map", "Prefetch"):
            break
    return 0


def _passes(wait: Wait, pipeline: Pipeline, last: Stage, length: float) -> float:
    """Passes over the data in a loop; 0 where they are unknown."""
    batches = wait.loop.steps * pipeline.per_step
    if pipeline.iterators > 1:  # one for each pass
        return batches / pipeline.length
    return ratio(batches * last.items, length)


def _is_never_full(pipeline: Pipeline, length: float) -> bool:
    """Whether passes end before the data does: a cache that is never filled is never used."""
    if pipeline.iterators <= 1:
        return False
    if not length:
        return pipeline.has("Take")
    return pipeline.length * pipeline.batch_size < 0.9 * length


def _same_each_pass(stages: Sequence[Stage], made: dict[Stage, PythonElements]) -> list[Stage]:
    """The stages from the source up to the last one that computes the same in every pass.

    A shuffle only changes the order, as does a generator that gives the same in another one: what
    a map computes above it can be computed below it as well.
    """
    kept: list[Stage] = []
    in_other_order = False
    for stage in reversed(asked_for(stages)):
        if _only_shuffles(stage):
            in_other_order = True
            continue
        if not _is_repeatable(stage, made) or (in_other_order and stage.kind != "Map"):
            break
        kept.append(stage)
        in_other_order |= stage in made and made[stage].reordered
        if in_other_order and stage.name == "MapAndBatch":
            break
    while kept and not computes(kept[-1]):
        kept.pop()
    return kept


def _only_shuffles(stage: Stage) -> bool:
    return stage.kind == "Shuffle" and stage.name != "ShuffleAndRepeat"


def _is_above_shuffle(stages: Sequence[Stage], last: Stage) -> bool:
    """Whether a cache behind a stage must be moved in front of the only shuffle."""
    kinds = [stage.kind for stage in stages]
    position = stages.index(last)
    return "Shuffle" in kinds[position:] and "Shuffle" not in kinds[:position]


def computes(stage: Stage) -> bool:
    return stage.asked.function is not None or stage.kind in READERS


def _is_repeatable(stage: Stage, made: dict[Stage, PythonElements]) -> bool:
    is_same = stage in made or not stage.asked.python
    return stage.kind in _REPEATABLE and is_same and not stage.asked.random
