"""Datasets that the same lines build with other numbers, as `dataset.skip(i * n).take(n)` does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from unslow.analyse.grouping import grouped
from unslow.facts.data import UNKNOWN_LENGTH, BuiltStage, Dataset, IteratorMade, PipelineReading
from unslow.model import Run

READS = (Dataset,)

_CUTTING = ("Skip", "Take")


@dataclass(frozen=True)
class Variants:
    """Datasets of a process that differ only in the counts of cuts, and in lengths above these."""

    dataset: int  # the first of them
    stages: tuple[BuiltStage, ...]  # without the numbers in which they differ


AllVariants = Mapping[tuple[int, int], Variants]  # by process and dataset


def built_stages(run: Run, process: int | None = None) -> Iterator[BuiltStage]:
    """The stages of every pipeline as the program built it."""
    return chain.from_iterable(dataset.stages for dataset in run.facts(Dataset, process))


def first_variant(variants: AllVariants, fact: IteratorMade | PipelineReading) -> tuple[int, int]:
    """The process and the first dataset of those that are alike, for a fact about one of them."""
    found = variants.get((fact.process, fact.dataset))
    return fact.process, found.dataset if found is not None else fact.dataset


def dataset_variants(run: Run) -> AllVariants:
    found: dict[tuple[int, int], Variants] = {}
    facts = run.facts(Dataset)
    for (process, _), family in grouped(facts, lambda one: (one.process, _alike(one))).items():
        first = family[0]
        stages = first.stages if len(family) == 1 else _without_counts(first.stages)
        variants = Variants(first.dataset, stages)
        found.update({(process, one.dataset): variants for one in family})
    return found


def _alike(dataset: Dataset) -> str:
    return repr([stage.replace(tokens=()) for stage in _without_counts(dataset.stages)])


def _without_counts(stages: Sequence[BuiltStage]) -> tuple[BuiltStage, ...]:
    cuts = [position for position, stage in enumerate(stages) if stage.kind in _CUTTING]
    lowest = max(cuts, default=-1)
    above = [stage.replace(length=UNKNOWN_LENGTH) for stage in stages[: lowest + 1]]
    for position in cuts:
        above[position] = above[position].replace(count=None)
    return (*above, *stages[lowest + 1 :])
