"""Pipelines in a session's graph: what a profiler window shows, with the lines that built them."""

from __future__ import annotations

from typing import Any

import pytest

from unslow.analyse.host.step_profile import SketchedWindow, StepProfile
from unslow.analyse.input.pipeline import Pipeline
from unslow.analyse.input.profile_iterators import ProfiledIterator, ProfiledStage
from unslow.analyse.input.remedies import remedies
from unslow.analyse.input.run_pipelines import pipelines
from unslow.analyse.input.waits import waits
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.diagnose import diagnose
from unslow.facts.data import NO_MODELS, BuiltStage, Dataset, IteratorMade, NoPipeline
from unslow.facts.schema import Place
from unslow.model import Phase, Run

FUNCTION = Place("train.py", 1, "f")


def built(kind: str, line: int, *inputs: int, **asked: Any) -> BuiltStage:
    return BuiltStage(kind=kind, stack=stack_at(line), inputs=inputs, **asked)


BUILT = [
    built("Prefetch", 5, 1),
    built("Batch", 4, 2, batch_size=8),
    built("Map", 3, 3, function=FUNCTION, random=True),
    built("TensorSlice", 2, length=400),
]


def made(number: int, stages: list[BuiltStage]) -> list[Placed]:
    iterator = IteratorMade(iterator=number, dataset=number, stack=stack_at(6), graph=True)
    return [at(0, Dataset(dataset=number, stages=tuple(stages))), at(0, iterator)]


def seen(count: int, own: float = 0.0, **more: Any) -> ProfiledStage:
    return ProfiledStage(count=count, own=own, **more)


STAGES = {
    "Root": seen(10),
    "Root/Prefetch": seen(10, 0.09),
    "Root/Prefetch/MapAndBatch": seen(9, 0.09, work=0.095, took=0.095, parallelism=1),
    "Root/Prefetch/MapAndBatch/TensorSlice": seen(80, 0.001),
}


def window(stages: dict[str, ProfiledStage], step: int = 60, whole: bool = True) -> Placed:
    """Ten steps that wait 9 ms each for a batch."""
    iterator = ProfiledIterator(gets=10, wait=0.09, bytes=8000, cores=2, memory=1e9, stages=stages)
    profile = StepProfile(kernels=0.01, iterators=(iterator,))
    return at(
        step, SketchedWindow(steps=10, step=step - 10, wall=0.1, whole=whole, profile=profile)
    )


def run(*facts: Placed, style: str = "session") -> Run:
    return Sketch("", phases={Phase.RUN: 0.95}, facts=facts, style=style).run()


def only(*facts: Placed) -> Pipeline:
    (found,) = pipelines(run(*facts))
    return found


def lines(found: Pipeline) -> list[tuple[str, int | None]]:
    return [(one.name, one.location.line if one.location else None) for one in found.stages]


def test_stages_in_a_graph_have_the_lines_that_built_them() -> None:
    found = only(*made(1, BUILT), window(STAGES))
    assert lines(found) == [("Prefetch", 5), ("MapAndBatch", 3), ("TensorSlice", 2)]
    assert found.location is not None and found.location.line == 6


def test_a_window_stands_for_all_steps_of_its_loop() -> None:
    found = only(*made(1, BUILT), window(STAGES))
    assert (found.batches, found.per_step, found.over) == (100, pytest.approx(1.0), 10)
    assert found.wait == pytest.approx(0.009)
    assert found.stages[1].busy == pytest.approx(0.0095)
    assert found.stages[2].elements == pytest.approx(8.0)


def test_what_a_function_gives_has_the_size_of_its_part_of_a_batch() -> None:
    found = only(*made(1, BUILT), window(STAGES))
    assert [stage.bytes for stage in found.stages] == [8000, 8000, 0]
    assert found.stages[1].item_bytes == pytest.approx(1000)


def test_a_map_that_is_limited_to_one_thread_is_what_the_step_waits_for() -> None:
    recorded = run(*made(1, BUILT), window(STAGES))
    (wait,) = waits(recorded)
    assert (wait.compiled, wait.per_step) == (True, pytest.approx(0.009))
    best = remedies(recorded, wait)[0]
    assert best.stage is not None and best.stage.location is not None
    assert (best.kind, best.stage.location.line) == ("parallel", 3)


def test_a_wait_that_no_stage_explains_names_none() -> None:
    idle = {**STAGES, "Root/Prefetch/MapAndBatch": seen(9, 0.09)}
    recorded = run(*made(1, BUILT), window(idle))
    (wait,) = waits(recorded)
    assert [(one.kind, one.stage) for one in remedies(recorded, wait)] == [("none", None)]


def test_of_two_pipelines_it_is_the_one_with_these_stages() -> None:
    other = [built("Batch", 9, 1), built("Range", 8)]
    assert lines(only(*made(1, other), *made(2, BUILT), window(STAGES)))[1] == ("MapAndBatch", 3)


def test_of_two_pipelines_with_the_same_stages_none_is_blamed() -> None:
    other = [
        built("Prefetch", 9, 1),
        built("Batch", 8, 2),
        built("Map", 7, 3),
        built("TensorSlice", 7),
    ]
    assert only(*made(1, other), *made(2, BUILT), window(STAGES)).stages == ()


def test_the_inputs_of_a_zip_keep_their_order() -> None:
    stages = [built("Zip", 4, 1, 2), built("Map", 2, 3), built("Range", 3), built("Range", 1)]
    places = {
        "Root": seen(10),
        "Root/Zip": seen(10),
        "Root/Zip[1]/Range": seen(10),
        "Root/Zip[0]/Map": seen(10, 0.09),
        "Root/Zip[0]/Map/Range": seen(10),
    }
    assert lines(only(*made(1, stages), window(places))) == [
        ("Zip", 4),
        ("Map", 2),
        ("Range", 1),
        ("Range", 3),
    ]


def test_what_is_made_per_element_counts_for_the_line_that_makes_it() -> None:
    stages = [built("FlatMap", 2, 1, function=FUNCTION), built("Tensor", 2)]
    places = {
        "Root": seen(10),
        "Root/FlatMap": seen(10, 0.01),
        "Root/FlatMap[]/Generator": seen(10, 0.08),
    }
    first = only(*made(1, stages), window(places)).stages[0]
    assert (first.name, first.busy) == ("FlatMap", pytest.approx(0.009))


def test_while_a_cache_is_filled_nothing_is_known() -> None:
    stages = [
        built("Cache", 3, 1),
        built("Map", 2, 2, function=FUNCTION),
        built("Range", 1),
    ]
    read = {
        "Root": seen(10),
        "Root/MemoryCache": seen(10, 0.05),
        "Root/MemoryCache/MemoryCacheImpl": seen(10, 0.04),
    }
    filling = {**read, "Root/MemoryCache/MemoryCacheImpl/Map": seen(10, 0.08)}
    assert pipelines(run(*made(1, stages), window(filling))) == []
    (wait,) = waits(run(*made(1, stages), window(read)))
    assert (wait.per_step, wait.steps) == (pytest.approx(0.009), 50)


@pytest.mark.parametrize("more", [{"whole": False}, {"step": 0}])
def test_without_a_window_of_whole_steps_nothing_is_known(more: dict[str, Any]) -> None:
    assert waits(run(*made(1, BUILT), window(STAGES, **more))) == []


def test_iterators_with_a_model_are_not_read_from_a_profile() -> None:
    assert pipelines(run(*made(1, BUILT), window(STAGES), style="keras")) == []


_WITHOUT_MODELS = at(0, NoPipeline(iterator=1, dataset=1, why=NO_MODELS))
_BY_MODELS = {"big-shuffle", "input-bound", "python-input", "rereading"}


def _unjudged(*facts: Placed) -> set[str]:
    recorded = run(_WITHOUT_MODELS, *facts, style="keras")
    unjudged = [each for each in diagnose(recorded).not_judged if each.reason == NO_MODELS]
    return {each.cause for each in unjudged}


def test_without_models_and_a_window_nothing_is_known_of_waits_inside_compiled_steps() -> None:
    assert _unjudged(*made(1, BUILT)) == _BY_MODELS


def test_a_window_stands_for_the_models_of_an_old_tensorflow() -> None:
    assert _unjudged(*made(1, BUILT), window(STAGES)) == set()


def test_what_a_wait_is_for_that_no_stage_of_a_window_explains_is_not_known() -> None:
    idle = {place: seen(stage.count, 1e-5) for place, stage in STAGES.items()}
    assert _unjudged(*made(1, BUILT), window(idle)) == {"python-input", "rereading"}
