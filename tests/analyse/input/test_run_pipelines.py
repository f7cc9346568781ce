"""Nodes of tf.data's model have the lines that built the pipeline."""

from __future__ import annotations

from typing import Any

import pytest

from unslow.analyse.input.pipeline import Pipeline, Stage, slowest
from unslow.analyse.input.run_pipelines import pipelines
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.facts.data import BuiltStage, Dataset, IteratorMade, ModelNode, PipelineReading
from unslow.facts.schema import Place

FUNCTION = Place("train.py", 1, "f")


def stage(kind: str, line: int, *inputs: int, **asked: Any) -> BuiltStage:
    return BuiltStage(kind=kind, stack=stack_at(line), inputs=inputs, **asked)


def node(
    number: int, name: str, *inputs: int, busy: float = 0.0, elements: float = 10
) -> ModelNode:
    return ModelNode(id=number, name=name, inputs=inputs, elements=elements, busy=busy * 1e9)


def reading(step: int, nodes: list[ModelNode], elements: int = 10) -> Placed:
    return at(
        step,
        PipelineReading(
            iterator=1,
            dataset=1,
            step=step,
            elements=elements,
            fetches=elements,
            fetch=0.1,
            nodes=tuple(nodes),
            cpu_budget=2,
            ram_budget=1e9,
        ),
    )


def only(built: list[BuiltStage], *readings: Placed) -> Pipeline:
    made = at(0, IteratorMade(iterator=1, dataset=1, stack=stack_at(9)))
    dataset = at(0, Dataset(dataset=1, stages=tuple(built)))
    (found,) = pipelines(Sketch("", facts=[dataset, made, *readings]).run())
    return found


def lines(found: Pipeline) -> list[tuple[str, int | None]]:
    return [(one.name, one.location.line if one.location else None) for one in found.stages]


def test_a_map_that_was_fused_with_a_batch_has_the_line_of_the_map() -> None:
    built = [
        stage("Batch", 3, 1, batch_size=8),
        stage("Map", 2, 2, function=FUNCTION),
        stage("Range", 1),
    ]
    nodes = [node(1, "Root", 2), node(2, "MapAndBatch", 3), node(3, "Range")]
    assert lines(only(built, reading(10, nodes))) == [("MapAndBatch", 2), ("Range", 1)]


def test_a_prefetch_that_tensorflow_added_has_no_line() -> None:
    built = [stage("Batch", 3, 1), stage("Prefetch", 2, 2), stage("Range", 1)]
    nodes = [
        node(1, "Root", 2),
        node(2, "Prefetch", 3),
        node(3, "BatchV2", 4),
        node(4, "Prefetch", 5),
        node(5, "Range"),
    ]
    found = lines(only(built, reading(10, nodes)))
    assert found == [("Prefetch", None), ("BatchV2", 3), ("Prefetch", 2), ("Range", 1)]


def test_stages_that_do_not_run_are_passed_over() -> None:
    built = [
        stage("Options", 4, 1),
        stage("Batch", 3, 2),
        stage("Restructured", 2, 3),
        stage("Range", 1),
    ]
    nodes = [node(1, "Root", 2), node(2, "BatchV2", 3), node(3, "Range")]
    assert lines(only(built, reading(10, nodes))) == [("BatchV2", 3), ("Range", 1)]


def test_what_a_generator_does_counts_for_the_line_that_made_it() -> None:
    built = [stage("FlatMap", 2, 1), stage("Tensor", 2)]
    nodes = [
        node(1, "Root", 2),
        node(2, "FlatMap", 3, 4),
        node(3, "FromTensor"),
        node(4, "Generator", busy=0.5),
    ]
    first = only(built, reading(10, nodes)).stages[0]
    assert (first.name, first.busy) == ("FlatMap", pytest.approx(0.05))


def test_both_inputs_of_a_zip_have_their_lines() -> None:
    built = [
        stage("Zip", 4, 1, 2),
        stage("Range", 1),
        stage("ParallelMap", 3, 3),
        stage("Range", 2),
    ]
    nodes = [
        node(1, "Root", 2),
        node(2, "Zip", 3, 4),
        node(3, "Range"),
        node(4, "ParallelMapV2", 5),
        node(5, "Range"),
    ]
    assert lines(only(built, reading(10, nodes))) == [
        ("Zip", 4),
        ("Range", 1),
        ("ParallelMapV2", 3),
        ("Range", 2),
    ]


def test_the_work_of_stages_that_a_repetition_recreates_adds_up() -> None:
    built = [stage("Repeat", 2, 1), stage("Range", 1)]
    first = [node(1, "Root", 2), node(2, "FiniteRepeat", 3), node(3, "Range", busy=1.0)]
    second = [node(1, "Root", 2), node(2, "FiniteRepeat", 7), node(7, "Range", busy=0.5)]
    found = only(built, reading(9, first, elements=10), reading(14, second, elements=15))
    assert found.stages[1].busy == pytest.approx(1.5 / 15)


def test_a_source_that_was_used_up_before_the_first_reading_is_listed() -> None:
    built = [
        stage("Shuffle", 3, 1),
        stage("Map", 2, 2, function=FUNCTION),
        stage("Range", 1),
    ]
    found = only(built, reading(10, [node(1, "Root", 2), node(2, "Shuffle")]))
    assert [(one.name, one.seen) for one in found.stages] == [
        ("Shuffle", True),
        ("Map", False),
        ("Range", False),
    ]


def test_stages_of_one_thread_add_up_and_those_with_threads_do_not() -> None:
    def made(name: str, busy: float, asynchronous: bool = False, parallelism: float = 1.0) -> Stage:
        return Stage(name, busy=busy, parallelism=parallelism, asynchronous=asynchronous)

    stages = (
        made("Prefetch", 0.0, True),
        made("Batch", 0.2),
        made("Filter", 0.3),
        made("Map", 0.8, True, 2.0),
    )
    seconds, found = slowest(stages)
    assert (round(seconds, 6), [one.name for one in found]) == (0.5, ["Filter", "Batch"])
